// SPDX-License-Identifier: GPL-2.0
/* Lists of packets, and packets as text. See packets.h. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"

static const char * const names[PACKET_TYPES] = {
	[PACKET_PAD] = "pad", [PACKET_PSB] = "psb", [PACKET_PSBEND] = "psbend",
	[PACKET_OVF] = "ovf", [PACKET_STOP] = "stop", [PACKET_TNT] = "tnt",
	[PACKET_TIP] = "tip", [PACKET_PGE] = "tip.pge", [PACKET_PGD] = "tip.pgd",
	[PACKET_FUP] = "fup", [PACKET_MODE_EXEC] = "mode.exec",
	[PACKET_MODE_TSX] = "mode.tsx", [PACKET_PIP] = "pip", [PACKET_VMCS] = "vmcs",
	[PACKET_TSC] = "tsc", [PACKET_TMA] = "tma", [PACKET_MTC] = "mtc",
	[PACKET_CYC] = "cyc", [PACKET_CBR] = "cbr", [PACKET_PTW] = "ptw",
	[PACKET_EXSTOP] = "exstop", [PACKET_MWAIT] = "mwait", [PACKET_PWRE] = "pwre",
	[PACKET_PWRX] = "pwrx", [PACKET_CFE] = "cfe", [PACKET_EVD] = "evd",
	[PACKET_MNT] = "mnt",
};

void packets_add(struct packets *packets, const struct packet *packet)
{
	/* Room doubles at each power of two. */
	if (!(packets->nr & (packets->nr - 1))) {
		size_t room = packets->nr ? 2 * packets->nr : 1;

		packets->packet = reallocarray(packets->packet, room, sizeof(*packet));
		if (!packets->packet)
			abort();
	}
	packets->packet[packets->nr++] = *packet;
}

const char *packet_name(enum packet_type type)
{
	return names[type];
}

enum packet_type packet_of_name(const char *name)
{
	enum packet_type type;

	for (type = 0; type < PACKET_TYPES; type++)
		if (!strcmp(names[type], name))
			break;
	return type;
}

bool packet_has_ip(enum packet_type type)
{
	return type == PACKET_TIP || type == PACKET_PGE || type == PACKET_PGD ||
	       type == PACKET_FUP;
}

uint64_t packet_ip(const struct packet *packet, uint64_t last)
{
	switch (packet->extra) {
	case 1:
		return (last & ~0xffffULL) | packet->value;
	case 2:
		return (last & ~0xffffffffULL) | packet->value;
	case 3:
		return (uint64_t)((int64_t)(packet->value << 16) >> 16);
	case 4:
		return (last & ~0xffffffffffffULL) | packet->value;
	case 6:
		return packet->value;
	default:
		return last;
	}
}

bool packet_same(const struct packet *a, const struct packet *b)
{
	if (a->offset != b->offset || a->type != b->type || a->size != b->size)
		return false;
	if (packet_has_ip(a->type) && a->ip != b->ip)
		return false;
	if (a->type == PACKET_TNT && a->extra != b->extra)
		return false;
	if (a->no_value || b->no_value)
		return true;
	return a->value == b->value && a->extra == b->extra;
}

static void tnt_arguments(const struct packet *packet, char *text)
{
	for (uint64_t i = packet->extra; i-- > 0; )
		*text++ = packet->value >> i & 1 ? 't' : 'n';
	*text = 0;
}

static const char *wake_reason(uint64_t bits)
{
	return bits & 1 ? "int" : bits & 4 ? "st" : bits & 8 ? "hw" : "none";
}

static void arguments(const struct packet *packet, char *text, size_t size)
{
	static const char * const tsx[] = { "commit", "begin", "abort", "begin abort" };
	uint64_t value = packet->value, extra = packet->extra;

	text[0] = 0;
	switch (packet->type) {
	case PACKET_TNT:
		tnt_arguments(packet, text);
		break;
	case PACKET_TIP:
	case PACKET_PGE:
	case PACKET_PGD:
	case PACKET_FUP:
		snprintf(text, size, "%" PRIu64 ": 0x%" PRIx64, extra, value);
		break;
	case PACKET_MODE_EXEC:
		snprintf(text, size, "%" PRIu64 "bit", value);
		break;
	case PACKET_MODE_TSX:
		snprintf(text, size, "%s", tsx[value & 3]);
		break;
	case PACKET_PIP:
		snprintf(text, size, "0x%" PRIx64 "%s", value, extra ? ", nr" : "");
		break;
	case PACKET_VMCS:
	case PACKET_TSC:
	case PACKET_MNT:
		snprintf(text, size, "0x%" PRIx64, value);
		break;
	case PACKET_MTC:
	case PACKET_CYC:
	case PACKET_CBR:
		snprintf(text, size, "%" PRIu64, value);
		break;
	case PACKET_TMA:
		snprintf(text, size, "%" PRIu64 ", %" PRIu64, value, extra);
		break;
	case PACKET_PTW:
		snprintf(text, size, "%" PRIu64 ": 0x%" PRIx64 "%s", extra & 1, value,
			 extra >> 8 ? ", ip" : "");
		break;
	case PACKET_EXSTOP:
		snprintf(text, size, "%s", extra ? "ip" : "");
		break;
	case PACKET_MWAIT:
		snprintf(text, size, "0x%" PRIx64 ", 0x%" PRIx64, value, extra);
		break;
	case PACKET_PWRE:
		snprintf(text, size, "c%" PRIu64 ".%" PRIu64 "%s", value >> 4, value & 15,
			 extra ? ", hw" : "");
		break;
	case PACKET_PWRX:
		snprintf(text, size, "%s: c%" PRIu64 ", c%" PRIu64, wake_reason(extra),
			 value >> 4, value & 15);
		break;
	default:
		break;
	}
}

void packet_text(const struct packet *packet, char *text)
{
	const char *wide = packet->type == PACKET_TNT && packet->size == 8 ? "64" : "";
	char args[64];

	arguments(packet, args, sizeof(args));
	snprintf(text, PACKET_TEXT, "%s%s(%s)", names[packet->type], wide, args);
}

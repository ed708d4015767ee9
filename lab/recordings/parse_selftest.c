// SPDX-License-Identifier: GPL-2.0
/* The parsers of the kselftests: intel_pt_packets.c, intel_pt_stream.c. */
#include <stdio.h>

#include "intel_pt_packets.h"
#include "intel_pt_stream.h"
#include "parsers.h"

static const enum packet_type types[] = {
	[PT_PAD] = PACKET_PAD, [PT_PSB] = PACKET_PSB, [PT_PSBEND] = PACKET_PSBEND,
	[PT_TSC] = PACKET_TSC, [PT_TMA] = PACKET_TMA, [PT_MTC] = PACKET_MTC,
	[PT_CYC] = PACKET_CYC, [PT_CBR] = PACKET_CBR, [PT_MODE_EXEC] = PACKET_MODE_EXEC,
	[PT_MODE_TSX] = PACKET_MODE_TSX, [PT_PIP] = PACKET_PIP, [PT_VMCS] = PACKET_VMCS,
	[PT_TNT] = PACKET_TNT, [PT_TIP] = PACKET_TIP, [PT_PGE] = PACKET_PGE,
	[PT_PGD] = PACKET_PGD, [PT_FUP] = PACKET_FUP, [PT_OVF] = PACKET_OVF,
	[PT_STOP] = PACKET_STOP, [PT_PTW] = PACKET_PTW, [PT_EXSTOP] = PACKET_EXSTOP,
	[PT_MWAIT] = PACKET_MWAIT, [PT_PWRE] = PACKET_PWRE, [PT_PWRX] = PACKET_PWRX,
	[PT_CFE] = PACKET_CFE, [PT_EVD] = PACKET_EVD, [PT_MNT] = PACKET_MNT,
};

/* It reads only those payloads that the kselftests need. */
static void read_payload(struct packet *packet, const unsigned char *p, uint64_t *ip)
{
	packet->no_value = true;
	if (packet->type == PACKET_PSB)
		*ip = 0;
	if (packet->type == PACKET_TNT)
		packet->extra = pt_tnt_bits(p);
	if (packet->type == PACKET_TSC) {
		packet->value = pt_tsc(p);
		packet->no_value = false;
	}
	if (packet_has_ip(packet->type))
		packet->ip = *ip = pt_ip(p, *ip);
}

void lex_selftest(const struct stream *stream, struct verdict *verdict)
{
	const unsigned char *p = pt_find_psb(stream->bytes, stream->size), *end;
	uint64_t ip = 0;
	size_t len;

	end = stream->bytes + stream->size;
	for (; p && p < end; p += len) {
		enum pt_packet what = pt_next(p, end - p, &len);
		struct packet packet = { .offset = p - stream->bytes, .size = len };

		verdict->offset = packet.offset;
		if (what == PT_SHORT)
			return;
		if (what == PT_BAD) {
			reject(verdict, packet.offset, "no packet begins like this");
			return;
		}
		packet.type = types[what];
		read_payload(&packet, p, &ip);
		packets_add(&verdict->packets, &packet);
	}
	verdict->offset = stream->size;
}

void follow_selftest(const struct stream *stream, struct verdict *verdict)
{
	struct pt_trace trace = {
		.bytes = (unsigned char *)stream->bytes,
		.nr_bytes = stream->size,
	};

	if (pt_trace_check(&trace))
		reject(verdict, trace.done, "%s", trace.error);
	verdict->offset = trace.done;
	/* The bytes are not its own. */
	trace.bytes = NULL;
	pt_trace_free(&trace);
}

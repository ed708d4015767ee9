// SPDX-License-Identifier: GPL-2.0
/*
 * pt_write: makes a stream of Intel PT from a text with a packet on each line. See usage().
 *
 * It is no encoder: it writes what it is told, even what no processor writes.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packets.h"

static const char *path;
static unsigned int line_number;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "pt_write: %s:%u: ", path, line_number);
	vfprintf(stderr, fmt, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

/* ---- bytes */

static void put(uint64_t bytes, unsigned int nr)
{
	while (nr--) {
		putchar(bytes & 0xff);
		bytes >>= 8;
	}
}

static void put_two(unsigned char second)
{
	put(0x02, 1);
	put(second, 1);
}

static void put_psb(void)
{
	for (int i = 0; i < 8; i++)
		put_two(0x82);
}

/* 5 bits in the first byte, 7 in each further one */
static void put_cyc(uint64_t value)
{
	put(0x03 | (value & 0x1f) << 3 | (value >> 5 ? 0x04 : 0), 1);
	for (value >>= 5; value; value >>= 7)
		put((value & 0x7f) << 1 | (value >> 7 ? 0x01 : 0), 1);
}

static void put_ip(unsigned char opcode, const struct packet *packet)
{
	static const unsigned char bytes[] = { 0, 2, 4, 6, 6, 0, 8, 0 };

	put(opcode | packet->extra << 5, 1);
	put(packet->value, bytes[packet->extra]);
}

/* ---- arguments */

/* The text of the arguments; taken from the left */
static char *rest;

static void skip_blanks(void)
{
	while (isblank(*rest))
		rest++;
}

static bool take(const char *word)
{
	size_t length = strlen(word);

	skip_blanks();
	if (strncmp(rest, word, length) || (isalnum(word[0]) && isalnum(rest[length])))
		return false;
	rest += length;
	return true;
}

static void need(const char *word)
{
	if (!take(word))
		die("'%s' expected, not '%s'", word, rest);
}

static uint64_t number(unsigned int bits)
{
	uint64_t value;
	char *end;

	skip_blanks();
	errno = 0;
	value = strtoull(rest, &end, 0);
	if (end == rest || !isdigit(*rest) || errno)
		die("a number expected, not '%s'", rest);
	if (bits < 64 && value >> bits)
		die("%.*s has more than %u bits", (int)(end - rest), rest, bits);
	rest = end;
	return value;
}

/* A word that may stand at the end, behind a comma */
static bool option(const char *word)
{
	if (!take(","))
		return false;
	need(word);
	return true;
}

/* ---- packets */

static void write_tnt(bool wide)
{
	unsigned int nr = 0, most = wide ? 47 : 6;
	uint64_t bits = 1;	/* the stop bit */

	for (; *rest; rest++) {
		if (isblank(*rest) || *rest == '.')
			continue;
		if (*rest != 't' && *rest != 'n')
			die("outcomes are t and n, not '%c'", *rest);
		bits = bits << 1 | (*rest == 't');
		nr++;
	}
	if (!nr || nr > most)
		die("%u outcomes, not 1 to %u", nr, most);
	if (!wide) {
		put(bits << 1, 1);
		return;
	}
	put_two(0xa3);
	put(bits, 6);
}

static void write_ip(enum packet_type type)
{
	static const unsigned char opcodes[] = {
		[PACKET_TIP] = 0x0d, [PACKET_PGE] = 0x11, [PACKET_PGD] = 0x01,
		[PACKET_FUP] = 0x1d,
	};
	static const unsigned char bits[] = { 0, 16, 32, 48, 48, 0, 64, 0 };
	struct packet packet = { .extra = number(3) };

	if (take(":"))
		packet.value = number(64);
	if (bits[packet.extra] < 64 && packet.value >> bits[packet.extra])
		die("0x%" PRIx64 " has more than the %u bits of IPBytes %" PRIu64,
		    packet.value, bits[packet.extra], packet.extra);
	put_ip(opcodes[type], &packet);
}

static void write_mode_exec(void)
{
	unsigned char bits = 0;

	if (take("64bit"))
		bits = 1;
	else if (take("32bit"))
		bits = 2;
	else
		need("16bit");
	put(0x99, 1);
	put(bits, 1);
}

static void write_mode_tsx(void)
{
	unsigned char bits = 0x20;

	if (take("begin"))
		bits |= 1;
	else if (take("abort"))
		bits |= 2;
	else
		need("commit");
	put(0x99, 1);
	put(bits, 1);
}

static void write_pip(void)
{
	uint64_t cr3 = number(52);

	put_two(0x43);
	put(cr3 >> 5 << 1 | option("nr"), 6);
}

static void write_vmcs(void)
{
	uint64_t base = number(52);

	put_two(0xc8);
	put(base >> 12, 5);
}

static void write_tma(void)
{
	uint64_t ctc = number(16), fast;

	need(",");
	fast = number(9);
	put_two(0x73);
	put(ctc, 3);
	put(fast, 2);
}

static void write_ptw(void)
{
	uint64_t wide = number(1), value;

	need(":");
	value = number(wide ? 64 : 32);
	put_two(0x12 | wide << 5 | option("ip") << 7);
	put(value, wide ? 8 : 4);
}

static void write_mwait(void)
{
	uint64_t hints = number(32);

	need(",");
	put_two(0xc2);
	put(hints, 4);
	put(number(32), 4);
}

static unsigned int c_state(void)
{
	skip_blanks();
	if (*rest++ != 'c')
		die("a C-state expected: cN");
	return number(4);
}

static void write_pwre(void)
{
	unsigned int state, sub = 0;

	state = c_state();
	if (take("."))
		sub = number(4);
	put_two(0x22);
	put(option("hw") << 7, 1);
	put(state << 4 | sub, 1);
}

static void write_pwrx(void)
{
	unsigned int reason = take("int") ? 1 : take("st") ? 4 : take("hw") ? 8 : 0;
	unsigned int last, deepest;

	if (!reason)
		die("int, st or hw expected, not '%s'", rest);
	need(":");
	last = c_state();
	need(",");
	deepest = c_state();
	put_two(0xa2);
	put(last << 4 | deepest, 1);
	put(reason, 4);
}

static void write_packet(enum packet_type type)
{
	switch (type) {
	case PACKET_PAD:
		put(0, 1);
		break;
	case PACKET_PSB:
		put_psb();
		break;
	case PACKET_PSBEND:
		put_two(0x23);
		break;
	case PACKET_OVF:
		put_two(0xf3);
		break;
	case PACKET_STOP:
		put_two(0x83);
		break;
	case PACKET_TIP:
	case PACKET_PGE:
	case PACKET_PGD:
	case PACKET_FUP:
		write_ip(type);
		break;
	case PACKET_MODE_EXEC:
		write_mode_exec();
		break;
	case PACKET_MODE_TSX:
		write_mode_tsx();
		break;
	case PACKET_PIP:
		write_pip();
		break;
	case PACKET_VMCS:
		write_vmcs();
		break;
	case PACKET_TSC:
		put(0x19, 1);
		put(number(56), 7);
		break;
	case PACKET_TMA:
		write_tma();
		break;
	case PACKET_MTC:
		put(0x59, 1);
		put(number(8), 1);
		break;
	case PACKET_CYC:
		put_cyc(number(64));
		break;
	case PACKET_CBR:
		put_two(0x03);
		put(number(8), 2);
		break;
	case PACKET_PTW:
		write_ptw();
		break;
	case PACKET_EXSTOP:
		put_two(take("ip") ? 0xe2 : 0x62);
		break;
	case PACKET_MWAIT:
		write_mwait();
		break;
	case PACKET_PWRE:
		write_pwre();
		break;
	case PACKET_PWRX:
		write_pwrx();
		break;
	case PACKET_MNT:
		put_two(0xc3);
		put(0x88, 1);
		put(number(64), 8);
		break;
	default:
		die("there is no text form of %s; write its bytes with raw-8()",
		    packet_name(type));
	}
}

/* ---- lines */

static void write_directive(const char *name)
{
	unsigned int bits;
	enum packet_type type = packet_of_name(name);

	if (!strcmp(name, "tnt") || !strcmp(name, "tnt64"))
		write_tnt(name[3]);
	else if (type != PACKET_TYPES)
		write_packet(type);
	else if (sscanf(name, "raw-%u", &bits) == 1 && bits && bits % 8 == 0 && bits <= 64)
		put(number(bits), bits / 8);
	else
		die("no packet is called '%s'", name);
	skip_blanks();
	if (*rest)
		die("'%s' is too much for %s", rest, name);
}

/* A line is "name(arguments)", perhaps with blanks around. */
static void write_line(char *line)
{
	char *comment = strchr(line, '#'), *open, *close, *name;

	if (comment)
		*comment = 0;
	name = line + strspn(line, " \t\n");
	if (!*name)
		return;
	open = strchr(name, '(');
	close = strrchr(name, ')');
	if (!open || !close || close < open || close[1 + strspn(close + 1, " \t\n")])
		die("not of the form name(arguments)");
	*open = *close = 0;
	rest = open + 1;
	write_directive(name);
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: pt_write FILE >STREAM\n"
		"\n"
		"Writes the packets that FILE has, one on a line, as a raw stream of Intel PT.\n"
		"The text ends where a line begins with \"==\", or with the file. # begins a\n"
		"comment. Numbers are decimal, or hexadecimal with 0x.\n"
		"\n"
		"  psb() psbend() pad() ovf() stop()\n"
		"  tnt(t.n) tnt64(tn...)                outcomes, up to 6 and 47\n"
		"  tip(N: IP) tip.pge(N: IP) tip.pgd(N: IP) fup(N: IP)\n"
		"                                       N, IPBytes: 0 none, 1 16 bits, 2 32,\n"
		"                                       3 48 sign extended, 4 48, 6 64\n"
		"  mode.exec(64bit|32bit|16bit) mode.tsx(begin|abort|commit)\n"
		"  pip(CR3[, nr]) vmcs(ADDRESS)\n"
		"  tsc(N) tma(CTC, FAST) mtc(N) cyc(N) cbr(N)\n"
		"  ptw(0|1: PAYLOAD[, ip])              4 or 8 bytes\n"
		"  exstop([ip]) mwait(HINTS, EXTENSIONS) pwre(cN.N[, hw])\n"
		"  pwrx(int|st|hw: cN, cN) mnt(PAYLOAD)\n"
		"  raw-8(N) raw-16(N) ... raw-64(N)     bytes, the lowest first\n"
		"\n"
		"Exit status: 0; 1 for an error in FILE; 2 if there is none.\n");
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t room = 0;
	FILE *f;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc != 2) {
		usage(stderr);
		return 2;
	}
	path = argv[1];
	f = fopen(path, "r");
	if (!f) {
		fprintf(stderr, "pt_write: %s: %s\n", path, strerror(errno));
		return 2;
	}
	while (getline(&line, &room, f) > 0 && strncmp(line, "==", 2)) {
		line_number++;
		write_line(line);
	}
	free(line);
	fclose(f);
	return fflush(stdout) ? 2 : 0;
}

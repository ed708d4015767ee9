// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of Intel PT. See intel_pt_packets.h.
 */
#define _GNU_SOURCE
#include <string.h>

#include "../kselftest.h"
#include "intel_pt_packets.h"

static const unsigned char psb[PT_PSB_SIZE] = {
	2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
};

/* Second bytes of packets that begin with 0x02, and their lengths */
static const struct {
	unsigned char	byte, len;
	enum pt_packet	what;
} pt_ext[] = {
	{ 0x23, 2, PT_PSBEND },
	{ 0x03, 4, PT_CBR },
	{ 0x43, 8, PT_PIP },
	{ 0x83, 2, PT_STOP },
	{ 0xa3, 8, PT_TNT },
	{ 0xc8, 7, PT_VMCS },
	{ 0x73, 7, PT_TMA },
	{ 0xf3, 2, PT_OVF },
	{ 0x62, 2, PT_EXSTOP },		/* without and with IP */
	{ 0xe2, 2, PT_EXSTOP },
	{ 0xc2, 10, PT_MWAIT },
	{ 0x22, 4, PT_PWRE },
	{ 0xa2, 7, PT_PWRX },
	{ 0x13, 4, PT_CFE },
	{ 0x53, 11, PT_EVD },
	{ 0xc3, 11, PT_MNT },
};

/* The packet has all its bytes. Are those with one possible value right? */
static bool pt_ext_valid(enum pt_packet what, const unsigned char *p)
{
	if (what == PT_MNT)
		return p[2] == 0x88;
	/* A long TNT has a stop bit, like a short one. */
	if (what == PT_TNT)
		return p[2] | p[3] | p[4] | p[5] | p[6] | p[7];

	return true;
}

static enum pt_packet pt_ext_packet(const unsigned char *p, size_t left, size_t *len)
{
	size_t i;

	if ((p[1] & 0x1f) == 0x12) {	/* PTW of 4 or 8 bytes */
		*len = p[1] & 0x20 ? 10 : 6;
		return p[1] & 0x40 ? PT_BAD : PT_PTW;
	}

	for (i = 0; i < ARRAY_SIZE(pt_ext); i++) {
		if (pt_ext[i].byte != p[1])
			continue;
		*len = pt_ext[i].len;
		if (left >= *len && !pt_ext_valid(pt_ext[i].what, p))
			return PT_BAD;
		return pt_ext[i].what;
	}

	return PT_BAD;
}

/* Bits of the address, by the upper three bits of the first byte. -1: reserved */
static int pt_ip_bits(unsigned char byte)
{
	static const signed char bits[] = { 0, 16, 32, 48, 48, -1, 64, -1 };

	return bits[byte >> 5];
}

static enum pt_packet pt_ip_packet(unsigned char byte, size_t *len)
{
	int bits = pt_ip_bits(byte);

	if (bits < 0)
		return PT_BAD;
	*len = 1 + bits / 8;

	switch (byte & 0x1f) {
	case 0x0d:
		return PT_TIP;
	case 0x11:
		return PT_PGE;
	case 0x01:
		return PT_PGD;
	case 0x1d:
		return PT_FUP;
	default:
		return PT_BAD;
	}
}

/* CYC: bit 2 of the first byte and bit 0 of each further byte mean that one more follows. */
static enum pt_packet pt_cyc_packet(const unsigned char *p, size_t left,
				    size_t *len)
{
	bool more = p[0] & 4;

	for (*len = 1; more && *len < left; ++*len)
		more = p[*len] & 1;

	return more ? PT_SHORT : PT_CYC;
}

/* The leaf is in the upper three bits of the second byte. */
static enum pt_packet pt_mode_packet(const unsigned char *p, size_t left, size_t *len)
{
	*len = 2;
	if (left < 2)
		return PT_SHORT;

	switch (p[1] >> 5) {
	case 0:
		/* Not 64-bit and 32-bit code at once */
		return (p[1] & 3) == 3 ? PT_BAD : PT_MODE_EXEC;
	case 1:
		return PT_MODE_TSX;
	default:
		return PT_BAD;
	}
}

static enum pt_packet pt_any_packet(const unsigned char *p, size_t left,
				    size_t *len)
{
	*len = 1;
	if (p[0] == 0x00)
		return PT_PAD;
	if (p[0] == 0x02)
		return left < 2 ? PT_SHORT : pt_ext_packet(p, left, len);
	if (!(p[0] & 1))
		return PT_TNT;
	if ((p[0] & 3) == 3)
		return pt_cyc_packet(p, left, len);

	switch (p[0]) {
	case 0x19:
		*len = 8;
		return PT_TSC;
	case 0x59:
		*len = 2;
		return PT_MTC;
	case 0x99:
		return pt_mode_packet(p, left, len);
	default:
		return pt_ip_packet(p[0], len);
	}
}

enum pt_packet pt_next(const unsigned char *p, size_t left, size_t *len)
{
	enum pt_packet what;

	if (left >= sizeof(psb) && !memcmp(p, psb, sizeof(psb))) {
		*len = sizeof(psb);
		return PT_PSB;
	}

	what = pt_any_packet(p, left, len);
	if (what == PT_BAD && left < sizeof(psb) && !memcmp(p, psb, left))
		return PT_SHORT;

	return what != PT_BAD && *len > left ? PT_SHORT : what;
}

const unsigned char *pt_find_psb(const unsigned char *p, size_t left)
{
	return memmem(p, left, psb, sizeof(psb));
}

unsigned int pt_tnt_bits(const unsigned char *p)
{
	__u64 payload = 0;

	/* The topmost set bit is a stop bit. In one byte, bit 0 isn't payload. */
	if (p[0] != 0x02)
		return 63 - __builtin_clzll(p[0]) - 1;

	memcpy(&payload, p + 2, 6);

	return 63 - __builtin_clzll(payload);
}

/* It has 7 bytes here. */
__u64 pt_tsc(const unsigned char *p)
{
	__u64 tsc = 0;

	memcpy(&tsc, p + 1, 7);

	return tsc;
}

unsigned int pt_cbr(const unsigned char *p)
{
	return p[2];
}

bool pt_has_ip(const unsigned char *p)
{
	return pt_ip_bits(p[0]) > 0;
}

__u64 pt_ip(const unsigned char *p, __u64 last)
{
	int bits = pt_ip_bits(p[0]);
	__u64 ip = 0, keep;

	if (bits <= 0)
		return last;

	memcpy(&ip, p + 1, bits / 8);
	keep = bits == 64 ? 0 : ~0ULL << bits;
	if (p[0] >> 5 == 3)	/* sign extended */
		return ip | (ip >> 47 ? keep : 0);

	return ip | (last & keep);
}

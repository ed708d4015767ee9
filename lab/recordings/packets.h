/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of Intel PT as all parsers give them, so that they can be compared; their text,
 * which pt_write reads and pt_check writes.
 */
#ifndef PACKETS_H
#define PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum packet_type {
	PACKET_PAD,
	PACKET_PSB,
	PACKET_PSBEND,
	PACKET_OVF,
	PACKET_STOP,
	PACKET_TNT,
	PACKET_TIP,
	PACKET_PGE,
	PACKET_PGD,
	PACKET_FUP,
	PACKET_MODE_EXEC,
	PACKET_MODE_TSX,
	PACKET_PIP,
	PACKET_VMCS,
	PACKET_TSC,
	PACKET_TMA,
	PACKET_MTC,
	PACKET_CYC,
	PACKET_CBR,
	PACKET_PTW,
	PACKET_EXSTOP,
	PACKET_MWAIT,
	PACKET_PWRE,
	PACKET_PWRX,
	PACKET_CFE,
	PACKET_EVD,
	PACKET_MNT,
	PACKET_TYPES
};

/*
 * What ->value and ->extra are:
 *
 *   TNT            outcomes, the oldest in the highest bit; their number
 *   IP packets     the bytes of the address that are there; IPBytes
 *   MODE.Exec      16, 32 or 64
 *   MODE.TSX       bit 0: begun, bit 1: aborted
 *   PIP            CR3; the non-root bit
 *   VMCS           address
 *   TMA            CTC; fast counter
 *   PTW            payload; bit 0: 8 bytes, bit 8: a FUP follows
 *   EXSTOP         -; a FUP follows
 *   MWAIT          hints; extensions
 *   PWRE           state << 4 | sub-state; by hardware
 *   PWRX           last << 4 | deepest state; bit 0: interrupt, 2: store, 3: hardware
 *   CFE, EVD       not compared
 *   TSC, MTC, CYC, CBR, MNT: payload
 */
struct packet {
	uint64_t offset;
	enum packet_type type;
	unsigned int size;
	uint64_t value, extra;
	uint64_t ip;		/* IP packets: the whole address */
	bool no_value;		/* the parser doesn't say ->value and ->extra */
};

struct packets {
	struct packet *packet;
	size_t nr;
};

void packets_add(struct packets *packets, const struct packet *packet);

const char *packet_name(enum packet_type type);
/* PACKET_TYPES if there is none of this name */
enum packet_type packet_of_name(const char *name);
bool packet_has_ip(enum packet_type type);
/* The whole address of an IP packet, if that of the one before, or 0 after PSB, was @last */
uint64_t packet_ip(const struct packet *packet, uint64_t last);
/* Is it the same packet, as far as both parsers say what is in it? */
bool packet_same(const struct packet *a, const struct packet *b);

/* As pt_write reads it. @text has PACKET_TEXT bytes. */
#define PACKET_TEXT	96
void packet_text(const struct packet *packet, char *text);

#endif

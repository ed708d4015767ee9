/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of Intel PT: where each begins and ends, and what is in it. Which of them may
 * follow each other is for intel_pt_stream.h.
 *
 * The formats are those of the Software Developer's Manual, volume 3, chapter on Intel
 * Processor Trace, "Packet Definitions". PEBS records in the trace (BBP, BIP, BEP) are
 * not known: no test asks for them.
 */
#ifndef _INTEL_PT_PACKETS_H
#define _INTEL_PT_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

enum pt_packet {
	PT_BAD,			/* no packet begins like this */
	PT_SHORT,		/* the packet isn't complete yet */
	PT_PAD,
	PT_PSB,
	PT_PSBEND,
	PT_TSC,
	PT_TMA,
	PT_MTC,
	PT_CYC,
	PT_CBR,
	PT_MODE_EXEC,
	PT_MODE_TSX,
	PT_PIP,
	PT_VMCS,
	PT_TNT,
	PT_TIP,
	PT_PGE,			/* TIP.PGE */
	PT_PGD,			/* TIP.PGD */
	PT_FUP,
	PT_OVF,
	PT_STOP,		/* TraceStop */
	PT_PTW,
	PT_EXSTOP,
	PT_MWAIT,
	PT_PWRE,
	PT_PWRX,
	PT_CFE,
	PT_EVD,
	PT_MNT,
};

#define PT_PSB_SIZE	16

/* The packet at @p, with @left bytes up to the end; its length goes into @len. */
enum pt_packet pt_next(const unsigned char *p, size_t left, size_t *len);
/* The first PSB, or NULL */
const unsigned char *pt_find_psb(const unsigned char *p, size_t left);

/* Outcomes in a TNT packet */
unsigned int pt_tnt_bits(const unsigned char *p);
__u64 pt_tsc(const unsigned char *p);
/* The core:bus ratio in a CBR packet */
unsigned int pt_cbr(const unsigned char *p);
/* Does this TIP, TIP.PGE, TIP.PGD or FUP have an address? */
bool pt_has_ip(const unsigned char *p);
/* Its address. Bits that it leaves out are those of @last, 0 after a PSB. */
__u64 pt_ip(const unsigned char *p, __u64 last);

#endif /* _INTEL_PT_PACKETS_H */

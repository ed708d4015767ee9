// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: packets of Intel PT.
 *
 * The formats are those of the Software Developer's Manual, volume 3, chapter on
 * Intel Processor Trace. Names of its sections are in quotes below; "Enable Conditions" is
 * short for the table "Packet Generation under Different Enable Conditions". Where
 * processors may differ, the model does what is easiest for decoders:
 *
 *   - outcomes of conditional branches are kept until another packet has to be in
 *     order with them, or a TNT packet is full;
 *   - a return is compressed if its call came after the last packet that may
 *     make a decoder forget calls (PSB, TIP.PGE, OVF).
 *
 * MTC packets are due at fixed times, but sent only when there is another packet to send.
 * Where they would leave a gap that a decoder can't bridge, TSC replaces them, as after a
 * sleep: "Timestamp Counter (TSC) Packet".
 *
 * This file changes only the copy that an operation works on, with one exception:
 * return addresses of calls, which would be most of the data to copy. See tm_pt_ret()
 * for why that does no harm.
 */
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include <asm/msr-index.h>

#include "registers.h"
#include "trace_model.h"

#define TM_TNT_SHORT	6
#define TM_TNT_LONG	47

/* Opcodes of packets with an IP; bits 5 to 7 encode the number of its bytes. */
#define TM_TIP		0x0d
#define TM_TIP_PGE	0x11
#define TM_TIP_PGD	0x01
#define TM_FUP		0x1d

/* With a larger gap, a decoder may believe that the counter went back. */
#define TM_MTC_GAP	128

/* "MODE.TSX Packet": not in a transaction */
#define TM_MODE_TSX	0x20

/* While the internal buffer is full, so many bytes are lost. */
#define TM_LOST		64

/* No PIP has this one. */
#define TM_NO_CR3	(~0ULL)

/* A last IP from which every address differs in the upper bits: the next one is whole. */
#define TM_NO_IP	(0x5555ULL << 48)

static DEFINE_PER_CPU(u64[TM_PT_RETS], tm_pt_rets);

/* "Overflow Impact on Enables": PacketByteCnt doesn't count what is lost. */
static void tm_pt_put(struct tm_cpu *cpu, const u8 *bytes, unsigned int n)
{
	struct tm_pt *pt = &cpu->pt;

	pt->since_ovf += n;
	if (pt->overflow)
		return;

	tm_out(cpu, bytes, n);
	pt->since_psb += n;
}

/* Opcode, and the low bytes of a payload. */
static void tm_pt_put_payload(struct tm_cpu *cpu, const u8 *op, unsigned int nr_op,
			      u64 payload, unsigned int nr)
{
	u8 packet[16];

	memcpy(packet, op, nr_op);
	memcpy(packet + nr_op, &payload, nr);
	tm_pt_put(cpu, packet, nr_op + nr);
}

#define tm_pt_packet(cpu, payload, nr, ...)				\
	do {								\
		const u8 tm_op[] = { __VA_ARGS__ };			\
									\
		tm_pt_put_payload(cpu, tm_op, sizeof(tm_op), payload, nr); \
	} while (0)

static bool tm_pt_branches(const struct tm_cpu *cpu)
{
	return cpu->ctl & RTIT_CTL_BRANCH_EN;
}

/*
 * Time
 */

static unsigned int tm_pt_field(const struct tm_cpu *cpu, u64 field)
{
	return (cpu->ctl & field) >> __builtin_ctzll(field);
}

static u64 tm_pt_mtc(const struct tm_cpu *cpu, u64 now)
{
	return (now * TM_ART_DEN / TM_ART_NUM) >> tm_pt_field(cpu, RTIT_CTL_MTC_RANGE);
}

/* 5 bits of the count in the first byte, 7 in each further one; only as many as needed. */
static void tm_pt_cyc(struct tm_cpu *cpu, u64 now)
{
	u64 count = now - cpu->pt.cyc, left = count >> 5;
	unsigned int threshold, n = 0;
	u8 packet[12];

	if (!(cpu->ctl & RTIT_CTL_CYCLEACC))
		return;

	threshold = tm_pt_field(cpu, RTIT_CTL_CYC_THRESH);
	if (!count || (threshold && count < 1ull << (threshold - 1)))
		return;

	packet[n++] = 0x03 | (left ? 0x04 : 0) | (count & 0x1f) << 3;
	while (left) {
		packet[n] = (left & 0x7f) << 1;
		left >>= 7;
		packet[n++] |= left ? 0x01 : 0;
	}
	cpu->pt.cyc = now;
	tm_pt_put(cpu, packet, n);
}

static void tm_pt_tsc(struct tm_cpu *cpu)
{
	u64 now = tm_pt_now();
	u64 ctc = now * TM_ART_DEN / TM_ART_NUM;
	u64 fast = now - ctc * TM_ART_NUM / TM_ART_DEN;

	if (!(cpu->ctl & RTIT_CTL_TSC_EN))
		return;

	tm_pt_packet(cpu, now, 7, 0x19);
	if (!(cpu->ctl & RTIT_CTL_MTC_EN))
		return;

	tm_pt_packet(cpu, (ctc & 0xffff) | (fast & 0x1ff) << 24, 5, 0x02, 0x73);
	cpu->pt.mtc = tm_pt_mtc(cpu, now);
}

/* The time, unless another packet has had it already. */
static void tm_pt_time(struct tm_cpu *cpu)
{
	u64 now = tm_pt_now(), mtc = tm_pt_mtc(cpu, now);

	/* "Overflow Impact on Timing Packets": the next CYC has the cycles of the overflow, too. */
	if (cpu->pt.overflow)
		return;

	tm_pt_cyc(cpu, now);
	if (!(cpu->ctl & RTIT_CTL_MTC_EN) || mtc == cpu->pt.mtc)
		return;

	if (mtc - cpu->pt.mtc >= TM_MTC_GAP && (cpu->ctl & RTIT_CTL_TSC_EN)) {
		tm_pt_tsc(cpu);
		return;
	}
	tm_pt_packet(cpu, mtc, 1, 0x59);
	cpu->pt.mtc = mtc;
}

/*
 * TNT
 */

/* The stop bit is above the outcomes; the oldest outcome is the highest bit. */
static void tm_pt_put_tnt(struct tm_cpu *cpu, unsigned int n)
{
	struct tm_pt *pt = &cpu->pt;
	u64 bits = pt->tnt >> (pt->nr_tnt - n) & (BIT_ULL(n) - 1);

	bits |= BIT_ULL(n);
	if (n <= TM_TNT_SHORT)
		tm_pt_packet(cpu, bits << 1, 1);
	else
		tm_pt_packet(cpu, bits, 6, 0x02, 0xa3);
	pt->nr_tnt -= n;
}

static void tm_pt_flush(struct tm_cpu *cpu)
{
	struct tm_pt *pt = &cpu->pt;

	if (pt->nr_tnt == TM_TNT_LONG)
		tm_pt_put_tnt(cpu, TM_TNT_LONG);
	/* Fewer outcomes aren't longer as short packets. */
	while (pt->nr_tnt)
		tm_pt_put_tnt(cpu, min(pt->nr_tnt, TM_TNT_SHORT));
}

static void tm_pt_outcome(struct tm_cpu *cpu, bool taken)
{
	cpu->pt.tnt = cpu->pt.tnt << 1 | taken;
	if (++cpu->pt.nr_tnt < (tm_config.long_tnt ? TM_TNT_LONG : TM_TNT_SHORT))
		return;

	tm_pt_time(cpu);
	tm_pt_flush(cpu);
}

/*
 * IP
 */

static void tm_pt_put_ip(struct tm_cpu *cpu, u8 op, u64 ip)
{
	u64 changed = ip ^ cpu->pt.last_ip;
	u8 code, nr;

	if (tm_config.whole_ip) {
		code = 6;
		nr = 8;
	} else if (!(changed >> 16)) {
		code = 1;
		nr = 2;
	} else if (!(changed >> 32)) {
		code = 2;
		nr = 4;
	} else if ((s64)(ip << 16) >> 16 == (s64)ip) {
		code = 3;
		nr = 6;
	} else {
		code = 6;
		nr = 8;
	}
	cpu->pt.last_ip = ip;
	tm_pt_packet(cpu, ip, nr, op | code << 5);
}

/* First the outcomes that came before, and the time. */
static void tm_pt_put_tip(struct tm_cpu *cpu, u8 op, u64 ip)
{
	tm_pt_flush(cpu);
	tm_pt_time(cpu);
	tm_pt_put_ip(cpu, op, ip);
}

static void tm_pt_moved(struct tm_cpu *cpu, u64 ip)
{
	cpu->pt.ip = ip;
	cpu->pt.era++;
}

/*
 * State
 */

static void tm_pt_mode(struct tm_cpu *cpu, u8 mode)
{
	cpu->pt.mode = mode;
	tm_pt_packet(cpu, mode, 1, 0x99);
}

static void tm_pt_cbr(struct tm_cpu *cpu)
{
	tm_pt_packet(cpu, tm_core_ratio(), 2, 0x02, 0x03);
}

static void tm_pt_pip(struct tm_cpu *cpu)
{
	u64 cr3 = tm_pt_cr3();

	cpu->pt.cr3 = cr3;
	/* CR3 from bit 5 on, above a bit that is clear: not in a guest. */
	tm_pt_packet(cpu, cr3 >> 5 << 1, 6, 0x02, 0x43);
}

/* Is code traced, or has it been interrupted by code that could be? */
static bool tm_pt_context(const struct tm_cpu *cpu)
{
	return cpu->pt.packet_en || (cpu->ctl & RTIT_CTL_OS);
}

/*
 * "Decoder Synchronization (PSB+)": MODE.TSX is in it if ContextEn=1 and BranchEn=1, on
 * CPUs that have it; MODE.Exec and FUP if PacketEn=1, PIP if ContextEn=1 and OS=1. Their
 * order isn't fixed; this is the processors' one. There is no VMCS: this CPU doesn't trace in
 * VMX operation.
 */
static void tm_pt_psb(struct tm_cpu *cpu)
{
	static const u8 psb[] = {
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
	};
	struct tm_pt *pt = &cpu->pt;

	tm_pt_flush(cpu);
	pt->last_ip = 0;
	pt->ret_depth = 0;
	pt->since_psb = 0;
	cpu->stat.psbs++;

	tm_pt_put(cpu, psb, sizeof(psb));
	tm_pt_tsc(cpu);
	if (tm_config.tsx && tm_pt_branches(cpu) && tm_pt_context(cpu))
		tm_pt_packet(cpu, TM_MODE_TSX, 1, 0x99);
	if (!pt->packet_en) {
		pt->mode = 0;
	} else if (tm_pt_branches(cpu)) {
		tm_pt_mode(cpu, pt->mode);
		tm_pt_put_ip(cpu, TM_FUP, pt->ip);
	}
	if (cpu->ctl & RTIT_CTL_OS)
		tm_pt_pip(cpu);
	tm_pt_cbr(cpu);
	tm_pt_packet(cpu, 0, 0, 0x02, 0x23);
}

/*
 * Overflow of the internal buffer
 */

/*
 * "Internal Buffer Overflow": OVF, and with PacketEn=1 a FUP with the address at which the
 * trace goes on. Else a TIP.PGE will have it. No address and no return refers to what was
 * lost; a lost MODE.Exec or PIP is repeated before that TIP.PGE.
 */
static void tm_pt_put_ovf(struct tm_cpu *cpu)
{
	struct tm_pt *pt = &cpu->pt;

	pt->overflow = false;
	pt->since_ovf = 0;
	pt->ret_depth = 0;
	pt->cr3 = TM_NO_CR3;

	tm_pt_time(cpu);
	tm_pt_packet(cpu, 0, 0, 0x02, 0xf3);
	pt->last_ip = TM_NO_IP;
	if (!pt->packet_en)
		pt->mode = 0;
	else if (tm_pt_branches(cpu))
		tm_pt_put_ip(cpu, TM_FUP, pt->ip);
}

/* The overflow ends before a packet that must not be lost. */
static void tm_pt_resolve(struct tm_cpu *cpu)
{
	if (cpu->pt.overflow)
		tm_pt_put_ovf(cpu);
}

static void tm_pt_fill(struct tm_cpu *cpu)
{
	unsigned int room = READ_ONCE(tm_config.overflow);

	if (room && cpu->pt.since_ovf >= room) {
		cpu->pt.overflow = true;
		cpu->pt.since_ovf = 0;
	}
}

/* At the end of each group of packets: pt.ip is right, nothing binds to the next packet. */
static void tm_pt_done(struct tm_cpu *cpu)
{
	struct tm_pt *pt = &cpu->pt;

	if (!pt->overflow)
		tm_pt_fill(cpu);
	else if (pt->since_ovf >= TM_LOST)
		tm_pt_put_ovf(cpu);

	if (!pt->overflow && pt->since_psb >= 2048u << tm_pt_field(cpu, RTIT_CTL_PSB_FREQ))
		tm_pt_psb(cpu);
}

/*
 * "Enabling and Disabling Packet Generation with TraceEn": PSB+ if PacketByteCnt is 0, else TSC,
 * TMA and CBR. CPUs without PacketByteCnt always have PSB+: CPUID leaf 0x14, EBX bit 1.
 */
static void tm_pt_begin(struct tm_cpu *cpu)
{
	struct tm_pt *pt = &cpu->pt;

	pt->overflow = false;
	pt->last_ip = TM_NO_IP;
	pt->tnt = 0;
	pt->nr_tnt = 0;
	pt->ret_depth = 0;
	pt->cr3 = tm_pt_cr3();
	pt->cyc = tm_pt_now();
	pt->mtc = tm_pt_mtc(cpu, pt->cyc);

	if (!tm_config.cyc || !pt->since_psb) {
		tm_pt_psb(cpu);
	} else {
		pt->mode = 0;
		tm_pt_tsc(cpu);
		tm_pt_cbr(cpu);
	}
}

/**
 * tm_pt_start() - TraceEn is set by code that isn't traced
 * @cpu: model
 *
 * "Enable Conditions", 2a and 2b.
 */
void tm_pt_start(struct tm_cpu *cpu)
{
	cpu->pt.packet_en = false;
	tm_pt_begin(cpu);
	tm_pt_done(cpu);
}

/**
 * tm_pt_stop() - TraceEn will be cleared
 * @cpu: model
 */
void tm_pt_stop(struct tm_cpu *cpu)
{
	if (cpu->pt.packet_en)
		tm_pt_left(cpu);
	tm_pt_resolve(cpu);
	tm_pt_flush(cpu);
}

/**
 * tm_pt_mov_cr3() - MOV to CR3 by code whose context is traced
 * @cpu: model, not tracing code
 *
 * "Enable Conditions", 5f.
 */
void tm_pt_mov_cr3(struct tm_cpu *cpu)
{
	tm_pt_time(cpu);
	tm_pt_pip(cpu);
	tm_pt_done(cpu);
}

/**
 * tm_pt_frequency() - the processor's frequency changes
 * @cpu: model, not tracing code
 *
 * "Core:Bus Ratio (CBR) Packet", and "Timestamp Counter (TSC) Packet": the clocks stop for
 * it.
 */
void tm_pt_frequency(struct tm_cpu *cpu)
{
	tm_pt_resolve(cpu);
	tm_pt_tsc(cpu);
	tm_pt_cbr(cpu);
	tm_pt_done(cpu);
}

/*
 * Beginning and end of tracing
 */

static void tm_pt_put_pge(struct tm_cpu *cpu, u64 ip, u8 mode)
{
	struct tm_pt *pt = &cpu->pt;

	tm_pt_resolve(cpu);
	tm_pt_moved(cpu, ip);
	pt->packet_en = true;
	pt->ret_depth = 0;
	if (!tm_pt_branches(cpu))
		return;

	if ((cpu->ctl & RTIT_CTL_OS) && tm_pt_cr3() != pt->cr3)
		tm_pt_pip(cpu);
	if (mode != pt->mode)
		tm_pt_mode(cpu, mode);
	tm_pt_put_ip(cpu, TM_TIP_PGE, ip);
	tm_pt_done(cpu);
}

/**
 * tm_pt_start_at() - TraceEn is set by code that is traced from now on
 * @cpu: model
 * @ip: address of its next instruction
 * @mode: TM_MODE_64 or TM_MODE_32
 *
 * "Enable Conditions", 2d and 2e. TIP.PGE is behind PSB+ with its FUP, as erratum BDM70 has
 * it, which most processors have (SKD024, SKL021, KBL021). Its address is whole, because
 * decoders that know the erratum pass over that FUP.
 */
void tm_pt_start_at(struct tm_cpu *cpu, u64 ip, u8 mode)
{
	tm_pt_moved(cpu, ip);
	cpu->pt.packet_en = true;
	cpu->pt.mode = mode;
	tm_pt_begin(cpu);
	cpu->pt.last_ip = TM_NO_IP;
	tm_pt_put_pge(cpu, ip, mode);
}

/**
 * tm_pt_enable() - traced code begins to run, "Enable Conditions" 6c, 7b, 9b, 10b
 * @cpu: model
 * @ip: where
 * @mode: TM_MODE_64 or TM_MODE_32
 */
void tm_pt_enable(struct tm_cpu *cpu, u64 ip, u8 mode)
{
	if (tm_pt_branches(cpu))
		tm_pt_time(cpu);
	tm_pt_put_pge(cpu, ip, mode);
}

/**
 * tm_pt_disable() - traced code ends with a far transfer
 * @cpu: model
 */
void tm_pt_disable(struct tm_cpu *cpu)
{
	cpu->pt.packet_en = false;
	if (tm_pt_branches(cpu)) {
		tm_pt_flush(cpu);
		tm_pt_time(cpu);
		tm_pt_packet(cpu, 0, 0, TM_TIP_PGD);
	}
	tm_pt_done(cpu);
}

/**
 * tm_pt_disable_at() - traced code is interrupted
 * @cpu: model
 * @ip: address of the first instruction that isn't executed
 */
void tm_pt_disable_at(struct tm_cpu *cpu, u64 ip)
{
	cpu->pt.packet_en = false;
	if (tm_pt_branches(cpu)) {
		tm_pt_put_tip(cpu, TM_FUP, ip);
		/* A decoder takes both as one event: no packet in between. */
		tm_pt_packet(cpu, 0, 0, TM_TIP_PGD);
	}
	tm_pt_done(cpu);
}

/**
 * tm_pt_disable_to() - code continues, but is no longer traced
 * @cpu: model
 * @to: address at which it continues
 */
void tm_pt_disable_to(struct tm_cpu *cpu, u64 to)
{
	cpu->pt.packet_en = false;
	if (tm_pt_branches(cpu))
		tm_pt_put_tip(cpu, TM_TIP_PGD, to);
	tm_pt_done(cpu);
}

/**
 * tm_pt_tracestop() - code that ends the trace is reached
 * @cpu: model, not tracing code
 */
void tm_pt_tracestop(struct tm_cpu *cpu)
{
	tm_pt_resolve(cpu);
	tm_pt_packet(cpu, 0, 0, 0x02, 0x83);
	cpu->status &= ~RTIT_STATUS_TRIGGEREN;
	cpu->status |= RTIT_STATUS_STOPPED;
}

/*
 * Branches
 */

/**
 * tm_pt_cond() - a conditional branch
 * @cpu: model
 * @taken: whether it was taken
 * @to: address of the next instruction
 */
void tm_pt_cond(struct tm_cpu *cpu, bool taken, u64 to)
{
	tm_pt_moved(cpu, to);
	if (tm_pt_branches(cpu))
		tm_pt_outcome(cpu, taken);
	tm_pt_done(cpu);
}

/**
 * tm_pt_direct() - a branch whose target is in the code, so without a packet
 * @cpu: model
 * @to: address of the next instruction
 */
void tm_pt_direct(struct tm_cpu *cpu, u64 to)
{
	tm_pt_moved(cpu, to);
}

/**
 * tm_pt_indirect() - a branch whose target isn't in the code
 * @cpu: model
 * @to: address of the next instruction
 */
void tm_pt_indirect(struct tm_cpu *cpu, u64 to)
{
	tm_pt_moved(cpu, to);
	if (tm_pt_branches(cpu))
		tm_pt_put_tip(cpu, TM_TIP, to);
	tm_pt_done(cpu);
}

/**
 * tm_pt_call() - the next branch is a call, but not of the instruction after it
 * @cpu: model
 * @ret: return address
 */
void tm_pt_call(struct tm_cpu *cpu, u64 ret)
{
	struct tm_pt *pt = &cpu->pt;

	this_cpu_write(tm_pt_rets[pt->ret_top], ret);
	pt->ret_top = (pt->ret_top + 1) % TM_PT_RETS;
	if (pt->ret_depth < TM_PT_RETS)
		pt->ret_depth++;
}

/**
 * tm_pt_ret() - a near return
 * @cpu: model
 * @to: address of the next instruction
 *
 * The addresses are not part of what operations copy. An operation that is repeated
 * writes the same address again, to the place after the same calls; or no calls are
 * left, since an NMI has restarted the trace. NMIs write none: no traced code runs in
 * them.
 */
void tm_pt_ret(struct tm_cpu *cpu, u64 to)
{
	struct tm_pt *pt = &cpu->pt;
	bool known = false;

	if (pt->ret_depth) {
		pt->ret_depth--;
		pt->ret_top = (pt->ret_top + TM_PT_RETS - 1) % TM_PT_RETS;
		known = this_cpu_read(tm_pt_rets[pt->ret_top]) == to;
	}
	if (known && !(cpu->ctl & RTIT_CTL_DISRETC))
		tm_pt_cond(cpu, true, to);
	else
		tm_pt_indirect(cpu, to);
}

/**
 * tm_pt_overflow() - the path up to here is lost
 * @cpu: model, tracing code
 * @ip: address of the next instruction
 */
void tm_pt_overflow(struct tm_cpu *cpu, u64 ip)
{
	tm_pt_moved(cpu, ip);
	tm_pt_flush(cpu);
	tm_pt_put_ovf(cpu);
	tm_pt_done(cpu);
}

/**
 * tm_pt_ptwrite() - a PTWRITE instruction
 * @cpu: model, tracing code
 * @ip: address of the instruction
 * @value: its operand
 * @wide: the operand has 8 bytes, not 4
 */
void tm_pt_ptwrite(struct tm_cpu *cpu, u64 ip, u64 value, bool wide)
{
	bool fup = (cpu->ctl & RTIT_CTL_FUP_ON_PTW) && tm_pt_branches(cpu);

	if (!(cpu->ctl & RTIT_CTL_PTW_EN))
		return;

	tm_pt_flush(cpu);
	tm_pt_time(cpu);
	tm_pt_packet(cpu, value, wide ? 8 : 4, 0x02,
		     0x12 | (wide ? 0x20 : 0) | (fup ? 0x80 : 0));
	if (fup)
		tm_pt_put_ip(cpu, TM_FUP, ip);
	tm_pt_done(cpu);
}

/**
 * tm_pt_seen() - code was seen at an address, but isn't traced continuously
 * @cpu: model, not tracing code
 * @ip: address
 */
void tm_pt_seen(struct tm_cpu *cpu, u64 ip)
{
	tm_pt_enable(cpu, ip, TM_MODE_64);
	tm_pt_disable_at(cpu, ip);
}

/**
 * tm_pt_call_seen() - a call was seen between code that isn't traced continuously
 * @cpu: model, not tracing code
 * @site: address of the call instruction
 * @callee: address of the function
 * @indirect: the call is an indirect one
 * @ret: address of the instruction after the call
 *
 * A decoder sees one instruction, the call, and that it arrived. The time of the return
 * is unknown. But without a return, decoders believe that calls nest deeper and deeper,
 * so it is shown at once.
 */
void tm_pt_call_seen(struct tm_cpu *cpu, u64 site, u64 callee, bool indirect, u64 ret)
{
	tm_pt_enable(cpu, site, TM_MODE_64);
	if (indirect)
		tm_pt_indirect(cpu, callee);
	else
		tm_pt_direct(cpu, callee);
	tm_pt_disable_at(cpu, callee);
	tm_pt_put_pge(cpu, ret, TM_MODE_64);
	tm_pt_disable_at(cpu, ret);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of Intel PT: state and functions of the encoder, and those that it needs.
 *
 * The encoder is independent of the kernel. tools/testing/perf_events compiles it for
 * user space and decodes its output.
 */
#ifndef _TRACE_MODEL_PT_PACKETS_H
#define _TRACE_MODEL_PT_PACKETS_H

#include <linux/types.h>

struct tm_cpu;

#define TM_PT_RETS	64	/* calls that a compressed return may refer to */

/* Payload of MODE.Exec. */
#define TM_MODE_64	1
#define TM_MODE_32	2

/**
 * struct tm_pt - state of the packet generator
 * @ip: address at which the traced code continues after the last packet
 * @last_ip: payload of the last packet with an IP, for compression
 * @tnt: outcomes that are in no packet yet, the latest in bit 0
 * @cr3: value in the last PIP
 * @mtc: counter whose low bits are in MTC packets
 * @cyc: TSC at the last CYC
 * @since_psb: bytes since the last PSB, RTIT_STATUS.PacketByteCnt
 * @since_ovf: bytes since the last OVF, or bytes lost if @overflow
 * @era: changes whenever @ip does
 * @nr_tnt: used bits of @tnt
 * @ret_top: index after the latest call
 * @ret_depth: number of calls that returns may refer to
 * @mode: value in the last MODE.Exec, 0 if there was none since PSB, or since TraceEn was set
 * @packet_en: TIP.PGE sent, and no TIP.PGD since
 * @overflow: the internal buffer is full, and packets are lost
 */
struct tm_pt {
	u64	ip;
	u64	last_ip;
	u64	tnt;
	u64	cr3;
	u64	mtc;
	u64	cyc;
	u32	since_psb;
	u32	since_ovf;
	u32	era;
	u8	nr_tnt;
	u8	ret_top;
	u8	ret_depth;
	u8	mode;
	bool	packet_en;
	bool	overflow;
};

/* TraceEn is set: by code that isn't traced, by code that is; or cleared. See trace_model.h. */
void tm_pt_start(struct tm_cpu *cpu);
void tm_pt_start_at(struct tm_cpu *cpu, u64 ip, u8 mode);
void tm_pt_stop(struct tm_cpu *cpu);

/* Tracing begins at @ip, in code of @mode. */
void tm_pt_enable(struct tm_cpu *cpu, u64 ip, u8 mode);
/* It ends: before the instruction at @ip, */
void tm_pt_disable_at(struct tm_cpu *cpu, u64 ip);
/* with a far transfer that needs no address, */
void tm_pt_disable(struct tm_cpu *cpu);
/* because @to is filtered out. */
void tm_pt_disable_to(struct tm_cpu *cpu, u64 to);
/* TraceStop: a range that ends the trace was entered. */
void tm_pt_tracestop(struct tm_cpu *cpu);

void tm_pt_mov_cr3(struct tm_cpu *cpu);
void tm_pt_frequency(struct tm_cpu *cpu);

/* Branches of the traced code, and the IP at which it continues. */
void tm_pt_cond(struct tm_cpu *cpu, bool taken, u64 to);
void tm_pt_direct(struct tm_cpu *cpu, u64 to);
void tm_pt_indirect(struct tm_cpu *cpu, u64 to);
void tm_pt_call(struct tm_cpu *cpu, u64 ret);
void tm_pt_ret(struct tm_cpu *cpu, u64 to);
/* The path of the traced code is unknown, but it continues at @ip. */
void tm_pt_overflow(struct tm_cpu *cpu, u64 ip);
void tm_pt_ptwrite(struct tm_cpu *cpu, u64 ip, u64 value, bool wide);

/* Code that isn't traced continuously was at @ip; called a function. */
void tm_pt_seen(struct tm_cpu *cpu, u64 ip);
void tm_pt_call_seen(struct tm_cpu *cpu, u64 site, u64 callee, bool indirect, u64 ret);

/* Functions of the rest of the model that the encoder needs. */
u64 tm_pt_now(void);
u64 tm_pt_cr3(void);
unsigned int tm_core_ratio(void);
/* Ends traced code that was interrupted, with tm_pt_disable() or tm_pt_disable_at(). */
void tm_pt_left(struct tm_cpu *cpu);

#endif /* _TRACE_MODEL_PT_PACKETS_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: the meaning of an instruction for the trace.
 *
 * The kernel's decoder takes most of the time of a step, and programs run the same
 * instructions again and again: the bytes are read each time, but decoded only if they
 * have changed.
 */
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/uaccess.h>

#include <asm/insn.h>

#include "flow.h"
#include "trace_model.h"

#define TM_CACHE_BITS	9
#define TM_FETCH	16	/* bytes; an instruction has at most 15 */

struct tm_cached {
	u64		bytes[TM_FETCH / sizeof(u64)];
	struct tm_insn	insn;
	bool		mode64;
};

static DEFINE_PER_CPU(struct tm_cached[1 << TM_CACHE_BITS], tm_cache);

static u8 tm_kind_0f(const struct insn *insn)
{
	switch (insn->opcode.bytes[1]) {
	case 0x80 ... 0x8f:
		return TM_INSN_COND;
	case 0x05:
	case 0x34:
		return TM_INSN_SYSCALL;
	default:
		return TM_INSN_PLAIN;
	}
}

static u8 tm_kind_ff(const struct insn *insn)
{
	switch (X86_MODRM_REG(insn->modrm.value)) {
	case 2:
		return TM_INSN_CALL_INDIRECT;
	case 3:
	case 5:
		return TM_INSN_FAR;
	case 4:
		return TM_INSN_JUMP_INDIRECT;
	default:
		return TM_INSN_PLAIN;
	}
}

static bool tm_has_rep(const struct insn *insn)
{
	insn_byte_t prefix;
	int i;

	for_each_insn_prefix(insn, i, prefix) {
		if (prefix == 0xf2 || prefix == 0xf3)
			return true;
	}
	return false;
}

static u8 tm_kind(const struct insn *insn)
{
	/* No instruction with a VEX prefix is a branch. */
	if (insn_is_avx((struct insn *)insn))
		return TM_INSN_PLAIN;

	switch (insn->opcode.bytes[0]) {
	case 0x0f:
		return tm_kind_0f(insn);
	case 0x6c ... 0x6f:	/* INS, OUTS */
	case 0xa4 ... 0xa7:	/* MOVS, CMPS */
	case 0xaa ... 0xaf:	/* STOS, LODS, SCAS */
		return tm_has_rep(insn) ? TM_INSN_REP : TM_INSN_PLAIN;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:	/* LOOP, JCXZ */
		return TM_INSN_COND;
	case 0x8e:		/* MOV to a segment register */
		return X86_MODRM_REG(insn->modrm.value) == 2 ? TM_INSN_SHADOW : TM_INSN_PLAIN;
	case 0x17:		/* POP SS */
		return TM_INSN_SHADOW;
	case 0x9c:
		return TM_INSN_PUSHF;
	case 0x9d:
		return TM_INSN_POPF;
	case 0xc2:
	case 0xc3:
		return TM_INSN_RET;
	case 0x9a:
	case 0xca:
	case 0xcb:
	case 0xcf:
	case 0xea:
		return TM_INSN_FAR;
	case 0xe8:
		return TM_INSN_CALL;
	case 0xe9:
	case 0xeb:
		return TM_INSN_JUMP;
	case 0xff:
		return tm_kind_ff(insn);
	default:
		return TM_INSN_PLAIN;
	}
}

static struct tm_insn tm_insn_parse(const u8 *bytes, unsigned int n, bool mode64)
{
	struct tm_insn ret = { .kind = TM_INSN_UNKNOWN };
	struct insn insn;

	if (insn_decode(&insn, bytes, n, mode64 ? INSN_MODE_64 : INSN_MODE_32))
		return ret;

	ret.kind = tm_kind(&insn);
	ret.length = insn.length;
	ret.distance = insn.immediate.value;
	return ret;
}

static struct tm_insn tm_insn_cached(u64 ip, const u64 *bytes, bool mode64)
{
	unsigned int hash = hash_64(ip, TM_CACHE_BITS);
	struct tm_cached *cached = this_cpu_ptr(&tm_cache[hash]);

	if (cached->bytes[0] != bytes[0] || cached->bytes[1] != bytes[1] ||
	    cached->mode64 != mode64) {
		cached->insn = tm_insn_parse((const u8 *)bytes, TM_FETCH, mode64);
		cached->bytes[0] = bytes[0];
		cached->bytes[1] = bytes[1];
		cached->mode64 = mode64;
	}
	return cached->insn;
}

/**
 * tm_insn_at() - the user's instruction at an address
 * @ip: address
 * @mode64: 64-bit code
 *
 * Call it only from the trap after the instruction: the cache isn't reentrant.
 *
 * Return: the instruction, TM_INSN_UNKNOWN if it can't be read.
 */
struct tm_insn tm_insn_at(u64 ip, bool mode64)
{
	const void __user *from = (const void __user *)(unsigned long)ip;
	unsigned int n = TM_FETCH;
	u64 bytes[TM_FETCH / sizeof(u64)];

	if (!copy_from_user_nofault(bytes, from, n))
		return tm_insn_cached(ip, bytes, mode64);

	/* The last ones of a mapping. */
	n = min_t(unsigned int, n, PAGE_SIZE - offset_in_page(ip));
	if (!copy_from_user_nofault(bytes, from, n))
		return tm_insn_parse((const u8 *)bytes, n, mode64);

	return (struct tm_insn){ .kind = TM_INSN_UNKNOWN };
}

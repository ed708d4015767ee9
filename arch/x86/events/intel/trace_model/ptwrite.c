// SPDX-License-Identifier: GPL-2.0
/*
 * Software model of Intel's trace hardware: the PTWRITE instruction.
 *
 * A CPU without the instruction raises #UD, and the model executes it instead. While
 * nothing is traced it has no effect, as on a CPU that has it.
 */
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/uaccess.h>

#include <asm/insn.h>
#include <asm/insn-eval.h>

#include "flow.h"
#include "trace_model.h"

struct tm_ptwrite {
	u64	ip;
	u64	value;
	bool	wide;
};

static bool tm_is_ptwrite(struct insn *insn)
{
	return insn->opcode.nbytes == 2 && insn->opcode.bytes[0] == 0x0f &&
	       insn->opcode.bytes[1] == 0xae && X86_MODRM_REG(insn->modrm.value) == 4 &&
	       insn_last_prefix_id(insn) == INAT_PFX_REPE;
}

static int tm_operand(struct insn *insn, struct pt_regs *regs, struct tm_ptwrite *ptwrite)
{
	unsigned int size = ptwrite->wide ? 8 : 4;
	void __user *address;
	int offset;

	ptwrite->value = 0;
	if (X86_MODRM_MOD(insn->modrm.value) == 3) {
		offset = insn_get_modrm_rm_off(insn, regs);
		if (offset < 0)
			return offset;
		memcpy(&ptwrite->value, (void *)regs + offset, size);
		return 0;
	}
	address = insn_get_addr_ref(insn, regs);
	if (address == (void __user *)-1L)
		return -EFAULT;
	return copy_from_user_nofault(&ptwrite->value, address, size);
}

static u64 tm_op_ptwrite(struct tm_cpu *cpu, void *arg)
{
	const struct tm_ptwrite *ptwrite = arg;

	if (cpu->pt.packet_en)
		tm_pt_ptwrite(cpu, ptwrite->ip, ptwrite->value, ptwrite->wide);
	return 0;
}

/**
 * tm_ptwrite() - an instruction raised #UD
 * @regs: registers of the program
 *
 * Return: true if it was PTWRITE, which has been executed.
 */
bool tm_ptwrite(struct pt_regs *regs)
{
	struct tm_ptwrite ptwrite = { .ip = regs->ip };
	u8 bytes[MAX_INSN_SIZE];
	struct insn insn;
	int n;

	n = insn_fetch_from_user_inatomic(regs, bytes);
	if (n <= 0 || !insn_decode_from_regs(&insn, regs, bytes, n) || !tm_is_ptwrite(&insn))
		return false;

	ptwrite.wide = insn.x86_64 && X86_REX_W(insn.rex_prefix.value);
	/* It faults like any load, but the program gets an invalid opcode exception. */
	if (tm_operand(&insn, regs, &ptwrite))
		return false;

	tm_try(tm_op_ptwrite, &ptwrite);
	regs->ip += insn.length;
	return true;
}

NOKPROBE_SYMBOL(tm_ptwrite);

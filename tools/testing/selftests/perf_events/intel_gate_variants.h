/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The variants of a fixture named gate, to be included after FIXTURE(gate): one for
 * each kind of gate, see gate_kind().
 */
#ifndef _INTEL_GATE_VARIANTS_H
#define _INTEL_GATE_VARIANTS_H

FIXTURE_VARIANT(gate)
{
	const char *kind;
};

FIXTURE_VARIANT_ADD(gate, tracepoint)
{
	.kind = "tracepoint",
};

FIXTURE_VARIANT_ADD(gate, kprobe)
{
	.kind = "kprobe",
};

FIXTURE_VARIANT_ADD(gate, uprobe)
{
	.kind = "uprobe",
};

FIXTURE_VARIANT_ADD(gate, break_resume)
{
	.kind = "break_resume",
};

FIXTURE_VARIANT_ADD(gate, break_pause)
{
	.kind = "break_pause",
};

FIXTURE_VARIANT_ADD(gate, watch_resume)
{
	.kind = "watch_resume",
};

FIXTURE_VARIANT_ADD(gate, watch_pause)
{
	.kind = "watch_pause",
};

FIXTURE_VARIANT_ADD(gate, software)
{
	.kind = "software",
};

FIXTURE_VARIANT_ADD(gate, softirq_resume)
{
	.kind = "softirq_resume",
};

FIXTURE_VARIANT_ADD(gate, softirq_pause)
{
	.kind = "softirq_pause",
};

FIXTURE_VARIANT_ADD(gate, irq_resume)
{
	.kind = "irq_resume",
};

FIXTURE_VARIANT_ADD(gate, irq_pause)
{
	.kind = "irq_pause",
};

FIXTURE_VARIANT_ADD(gate, nmi)
{
	.kind = "nmi",
};

#endif /* _INTEL_GATE_VARIANTS_H */

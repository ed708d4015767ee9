// SPDX-License-Identifier: GPL-2.0
/*
 * The trace model's registers and its interrupt in user space: msr.c, counters.c, core.c,
 * output.c and violations.c of arch/x86/events/intel/trace_model, unchanged. The local APIC and the
 * clock are the test's.
 *
 * Expected: what the manual forbids faults, changes nothing, and is a violation; an
 * interrupt comes when and as often as the options say.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/types.h>

#define cmpxchg_local(ptr, old, new)	compare_exchange(ptr, old, new)
#include "../../../../arch/x86/events/intel/trace_model/core.c"

#include <asm/processor.h>
#include <asm/tsc.h>

#include "../tap.h"

/* The kernel's log */
static char logged[1024];
#define pr_warn(...)	log_add(__VA_ARGS__)
static void log_add(const char *format, ...);

#include "../../../../arch/x86/events/intel/trace_model/violations.c"

int tap_count, tap_failed;

unsigned char memory[MEMORY_PAGES * PAGE_SIZE] __aligned(4096);

#define TOPA_END	BIT(0)
#define TOPA_INT	BIT(2)
#define REGIONS		4
#define TRACE		(RTIT_CTL_TRACEEN | RTIT_CTL_TOPA | RTIT_CTL_USR)
#define TRACE_OFF	(RTIT_CTL_TOPA | RTIT_CTL_USR)

static const char *failure;

static void expect(bool condition, const char *what)
{
	if (!condition && !failure)
		failure = what;
}

static void result(const char *name)
{
	tap_result(!failure, "%s%s%s", name, failure ? ": " : "", failure ?: "");
	failure = NULL;
}

void warn(const char *what)
{
	expect(false, what);
}

/*
 * What the model uses
 */

struct tm_config tm_config = { .cyc = true, .icount = TM_NO_ICOUNT };
struct cpuinfo boot_cpu_data = { .x86_phys_bits = 46 };

static bool masked;
static unsigned int interrupts;
static u64 now;

static void log_add(const char *format, ...)
{
	size_t used = strlen(logged);
	va_list args;

	va_start(args, format);
	vsnprintf(logged + used, sizeof(logged) - used, format, args);
	va_end(args);
}

/* Those since the last call; reports of them, too */
static u32 violations(void)
{
	u32 seen = 0;

	for (unsigned int i = 0; i < TM_NR_VIOLATIONS; i++)
		seen |= tm_violations[i] ? BIT(i) : 0;
	memset(tm_violations, 0, sizeof(tm_violations));
	memset(tm_reports, 0, sizeof(tm_reports));
	memset(logged, 0, sizeof(logged));
	return seen;
}

bool tm_pmi_allowed(void)
{
	return !masked;
}

bool tm_pmi_is_masked(void)
{
	return masked;
}

/* Delivery masks LVTPC. */
void tm_pmi_send(void)
{
	interrupts++;
	masked = true;
}

void tm_timer_update(u64 deadline)
{
}

void tm_flow_update(void)
{
}

u64 rdtsc_ordered(void)
{
	return now;
}

void tm_branch_start(struct tm_cpu *cpu, u64 ip)
{
}

void tm_branch_end(struct tm_cpu *cpu, u64 ip)
{
}

void tm_pt_stop(struct tm_cpu *cpu)
{
}

void tm_bts_start(struct tm_cpu *cpu)
{
}

void tm_bts_stop(struct tm_cpu *cpu)
{
}

bool tm_pebs_overflow(struct tm_cpu *cpu, unsigned long counters, u64 tsc,
		      const struct pt_regs *regs)
{
	return false;
}

/*
 * Steps of the tests
 */

static struct tm_cpu *current_value(void)
{
	return tm_slot(tm_state.current_seq);
}

static u64 *table(void)
{
	return (u64 *)memory;
}

static void reset(void)
{
	memset(memory, 0, sizeof(memory));
	for (u64 i = 0; i < REGIONS; i++)
		table()[i] = (i + 1) * PAGE_SIZE | TOPA_INT;
	table()[REGIONS] = TOPA_END;

	tm_delivery = (struct tm_delivery) {};
	masked = false;
	interrupts = 0;
	violations();
	tm_reset(0);
	tm_write_msr(MSR_IA32_RTIT_OUTPUT_MASK, TM_OUTPUT_LOW, 0, false);
}

static bool writes(unsigned int msr, u64 val)
{
	return !tm_write_msr(msr, val, 0, false);
}

static u64 value(unsigned int msr)
{
	u64 val = ~0ULL;

	tm_read_msr(msr, &val);
	return val;
}

static u64 nothing(struct tm_cpu *cpu, void *arg)
{
	return 0;
}

/* As in the handler of an NMI that has come */
static u64 arrive(struct tm_cpu *cpu, void *arg)
{
	u64 sent = cpu->sent;

	cpu->sent = 0;
	return sent;
}

static u64 request(struct tm_cpu *cpu, void *arg)
{
	cpu->global_status |= GLOBAL_STATUS_TRACE_TOPAPMI;
	tm_pmi_request(cpu, GLOBAL_STATUS_TRACE_TOPAPMI);
	return 0;
}

static u64 request_counter(struct tm_cpu *cpu, void *arg)
{
	cpu->global_status |= 1;
	tm_pmi_request(cpu, 1);
	return 0;
}

static u64 request_bts(struct tm_cpu *cpu, void *arg)
{
	tm_pmi_request(cpu, TM_PMI_BTS);
	return 0;
}

static void acknowledge(void)
{
	writes(MSR_CORE_PERF_GLOBAL_OVF_CTRL, GLOBAL_STATUS_TRACE_TOPAPMI);
}

static void unmask(void)
{
	masked = false;
	tm_run(nothing, NULL);
}

/*
 * Tests
 */

static void expect_no_write(u64 val, const char *what)
{
	u64 before = value(MSR_IA32_RTIT_CTL);

	expect(!writes(MSR_IA32_RTIT_CTL, val), what);
	expect(violations() == BIT(TM_VIOLATION_VMX), what);
	expect(value(MSR_IA32_RTIT_CTL) == before, what);
}

static void test_vmx(void)
{
	reset();
	expect(writes(MSR_IA32_RTIT_CTL, TRACE) && !violations(), "TraceEn outside of VMX");
	tm_set_vmx(true);
	expect(value(MSR_IA32_RTIT_CTL) == TRACE_OFF, "VMXON leaves TraceEn");
	expect_no_write(TRACE, "TraceEn set in VMX operation");
	expect_no_write(TRACE_OFF, "the same value written in VMX operation");
	expect_no_write(0, "cleared in VMX operation");
	expect(tm_write_msr(MSR_IA32_RTIT_CTL, 0, 0, true) && !violations(),
	       "wrmsr_safe() in VMX operation");
	expect(writes(MSR_IA32_RTIT_STATUS, 0), "another register in VMX operation");
	tm_set_vmx(false);
	expect(writes(MSR_IA32_RTIT_CTL, TRACE) && !violations(), "TraceEn after VMX");
	result("RTIT_CTL in VMX operation");
}

static void test_acknowledged(void)
{
	reset();
	tm_run(request, NULL);
	expect(interrupts == 1, "interrupt");
	acknowledge();
	expect(tm_run(arrive, NULL) == GLOBAL_STATUS_TRACE_TOPAPMI,
	       "a latched NMI has lost its cause");

	/* LVTPC is masked now. */
	tm_run(request, NULL);
	expect(interrupts == 1 && current_value()->held, "interrupt while masked");
	acknowledge();
	unmask();
	expect(interrupts == 1, "interrupt whose cause was cleared while it was held back");

	masked = true;
	tm_run(request, NULL);
	unmask();
	expect(interrupts == 2 && tm_run(arrive, NULL) == GLOBAL_STATUS_TRACE_TOPAPMI,
	       "interrupt that was held back");
	expect(!violations(), "violation");
	result("acknowledgment");
}

static void test_masked(void)
{
	reset();
	masked = true;
	tm_run(request_bts, NULL);
	expect(!current_value()->held && tm_stats[TM_STAT_PMI_LOST] == 1,
	       "interrupt of BTS not lost while masked");

	tm_delivery.lost = true;
	tm_run(request, NULL);
	expect(!current_value()->held && tm_stats[TM_STAT_PMI_LOST] == 2,
	       "interrupt not lost while masked");
	unmask();
	expect(!interrupts && value(MSR_CORE_PERF_GLOBAL_STATUS), "lost interrupt has come");
	tm_run(request, NULL);
	expect(interrupts == 1, "interrupt after a lost one");
	result("interrupt while LVTPC is masked");
}

#define SKID	300
#define DRAWS	2000

/* Operations between the request and the interrupt */
static unsigned int skid(void)
{
	unsigned int before = interrupts, operations = 0;

	masked = false;
	tm_run(request, NULL);
	while (interrupts == before && operations <= SKID) {
		tm_run(nothing, NULL);
		operations++;
	}
	tm_run(arrive, NULL);
	acknowledge();
	return operations;
}

static void test_skid(void)
{
	static unsigned int first[DRAWS];
	unsigned int i, least = ~0U, most = 0, differ = 0;

	reset();
	expect(!skid(), "skid without the option");
	for (int run = 0; run < 3; run++) {
		reset();
		tm_delivery.skid = SKID;
		tm_delivery.seed = run == 2 ? 1000003 : 7;
		for (i = 0; i < DRAWS; i++) {
			unsigned int operations = skid();

			first[i] = run ? first[i] : operations;
			differ += run == 2 && operations != first[i];
			expect(run != 1 || operations == first[i], "the same seed skids otherwise");
			least = min(least, operations);
			most = operations > most ? operations : most;
		}
	}
	expect(!least && most == SKID, "range of the skid");
	expect(differ > DRAWS / 2, "another seed skids alike");
	result("skid");
}

/* What is on its way isn't stopped by the handler of another NMI. */
static void test_skid_acknowledged(void)
{
	reset();
	tm_delivery.skid = 1U << 30;
	tm_run(request, NULL);
	expect(!interrupts, "no skid");
	acknowledge();
	tm_delivery.skid = 0;
	tm_run(nothing, NULL);
	expect(interrupts == 1 && tm_run(arrive, NULL), "skid ended by an acknowledgment");
	result("acknowledgment before the interrupt");
}

static u64 request_and_end(struct tm_cpu *cpu, void *arg)
{
	request_counter(cpu, arg);
	tm_skid_end(cpu);
	return 0;
}

/* Of a counter, while its event is still known */
static void test_skid_stopped(void)
{
	reset();
	tm_delivery.skid = 1U << 30;
	tm_run(request_counter, NULL);
	expect(writes(MSR_CORE_PERF_GLOBAL_CTRL, 1) && !interrupts, "skid ended by a start");
	expect(writes(MSR_CORE_PERF_GLOBAL_CTRL, 0) && interrupts == 1, "skid of a stopped counter");

	reset();
	tm_delivery.skid = 1U << 30;
	tm_run(request, NULL);
	expect(writes(MSR_CORE_PERF_GLOBAL_CTRL, 0) && !interrupts, "skid of a trace ended");

	reset();
	tm_delivery.skid = 1U << 30;
	tm_run(request_and_end, NULL);
	expect(interrupts == 1, "skid that began in the operation that ends it");
	result("counters stopped before the interrupt");
}

/* It comes when the wait ends, whatever happens before. */
static void test_until(void)
{
	reset();
	tm_delivery.until = 1;
	tm_run(request, NULL);
	acknowledge();
	expect(!interrupts, "interrupt before the function");
	tm_delivery.until = 0;
	tm_run(nothing, NULL);
	expect(interrupts == 1 && tm_run(arrive, NULL), "no interrupt when the wait ends");
	result("interrupt that waits for a function");
}

static void expect_live(u32 expected, const char *what)
{
	expect(writes(MSR_IA32_RTIT_CTL, TRACE_OFF), what);
	expect(violations() == expected, what);
}

static void test_topa_live(void)
{
	reset();
	expect(writes(MSR_IA32_RTIT_CTL, TRACE), "TraceEn");
	expect_live(0, "no entry changed");

	table()[REGIONS - 1] &= ~TOPA_INT;
	expect(writes(MSR_IA32_RTIT_CTL, TRACE), "TraceEn");
	expect_live(0, "entry changed before TraceEn");

	expect(writes(MSR_IA32_RTIT_CTL, TRACE), "TraceEn");
	table()[REGIONS - 1] |= TOPA_INT;
	expect_live(BIT(TM_VIOLATION_TOPA_LIVE), "entry changed while TraceEn");

	/* A second table, where the first one ends */
	table()[REGIONS] = (MEMORY_PAGES - 1) * PAGE_SIZE | TOPA_END;
	memcpy(memory + (MEMORY_PAGES - 1) * PAGE_SIZE, memory, PAGE_SIZE);
	table()[(MEMORY_PAGES - 1) * PAGE_SIZE / sizeof(u64) + REGIONS] = TOPA_END;
	expect(writes(MSR_IA32_RTIT_CTL, TRACE), "TraceEn");
	table()[(MEMORY_PAGES - 1) * PAGE_SIZE / sizeof(u64)] ^= TOPA_INT;
	expect_live(BIT(TM_VIOLATION_TOPA_LIVE), "second table changed while TraceEn");
	result("ToPA entries changed while TraceEn");
}

#define FREEZE	(DEBUGCTLMSR_FREEZE_LBRS_ON_PMI | DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI)

static void test_debugctl(void)
{
	const u64 bits = DEBUGCTLMSR_LBR | DEBUGCTLMSR_BTS_OFF_OS | DEBUGCTLMSR_BTS_OFF_USR;

	reset();
	expect(writes(MSR_IA32_DEBUGCTLMSR, bits | FREEZE) && !violations() &&
	       value(MSR_IA32_DEBUGCTLMSR) == (bits | FREEZE), "bits held");
	expect(!writes(MSR_IA32_DEBUGCTLMSR, BIT(13)) &&
	       violations() == BIT(TM_VIOLATION_DEBUGCTL) &&
	       value(MSR_IA32_DEBUGCTLMSR) == (bits | FREEZE), "reserved bit");

	writes(MSR_CORE_PERF_GLOBAL_CTRL, 1);
	tm_run(request, NULL);
	expect(value(MSR_IA32_DEBUGCTLMSR) == ((bits | FREEZE) & ~DEBUGCTLMSR_LBR),
	       "LBR after a request");
	expect(!value(MSR_CORE_PERF_GLOBAL_CTRL), "counters after a request");

	writes(MSR_IA32_DEBUGCTLMSR, bits);
	writes(MSR_CORE_PERF_GLOBAL_CTRL, 1);
	tm_run(request, NULL);
	expect(value(MSR_IA32_DEBUGCTLMSR) == bits && value(MSR_CORE_PERF_GLOBAL_CTRL) == 1,
	       "frozen without a bit that says so");
	result("bits of DEBUGCTL, freeze");
}

/* Two counters overflow at the same time: the freeze stops both, behind the overflow. */
static void test_freeze_counters(void)
{
	const u64 cycles = 0x3c | ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_INT |
			   ARCH_PERFMON_EVENTSEL_ENABLE;

	reset();
	writes(MSR_IA32_DEBUGCTLMSR, DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI);
	for (int i = 0; i < 2; i++) {
		writes(MSR_IA32_PMC0 + i, BIT_ULL(TM_CNT_BITS) - 100);
		writes(MSR_ARCH_PERFMON_EVENTSEL0 + i, cycles);
	}
	writes(MSR_CORE_PERF_GLOBAL_CTRL, 3);
	now += 150;
	expect(value(MSR_CORE_PERF_GLOBAL_STATUS) == 3, "overflow");
	now += 1000;
	expect(value(MSR_IA32_PMC0) == 50 && value(MSR_IA32_PMC0 + 1) == 50, "counts");
	expect(interrupts == 1 && tm_run(arrive, NULL) == 3, "causes of the interrupt");
	result("freeze of counters");
}

static void retire(unsigned int instructions)
{
	struct tm_retired retired = { .instructions = instructions };

	tm_run(tm_op_retire, &retired);
}

/* Counters of instructions in user mode count steps, the others time. */
static void test_steps(void)
{
	const u64 instructions = 0xc0 | ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_INT |
				 ARCH_PERFMON_EVENTSEL_ENABLE;
	const unsigned int fixed = MSR_ARCH_PERFMON_FIXED_CTR0;

	reset();
	tm_config.step = true;
	writes(MSR_ARCH_PERFMON_EVENTSEL0, instructions);
	writes(MSR_ARCH_PERFMON_EVENTSEL0 + 1, instructions | ARCH_PERFMON_EVENTSEL_OS);
	writes(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, 2);
	writes(MSR_CORE_PERF_GLOBAL_CTRL, BIT_ULL(32) | 3);
	expect(tm_wants & TM_COUNT_USER, "no steps wanted");
	retire(3);
	now += 1000;
	expect(value(MSR_IA32_PMC0) == 3 && value(fixed) == 3, "steps");
	expect(value(MSR_IA32_PMC0 + 1) == 500, "time");
	tm_config.icount = 2;
	now += 1000;
	expect(value(MSR_IA32_PMC0) == 3 && value(MSR_IA32_PMC0 + 1) == 750, "icount");

	writes(MSR_IA32_PMC0, BIT_ULL(TM_CNT_BITS) - 2);
	retire(1);
	expect(!interrupts, "too early");
	retire(1);
	expect(interrupts == 1 && value(MSR_CORE_PERF_GLOBAL_STATUS) == 1, "no overflow");
	writes(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, 0);
	writes(MSR_ARCH_PERFMON_EVENTSEL0, 0);
	expect(!(tm_wants & TM_COUNT_USER), "steps wanted");
	tm_config.icount = TM_NO_ICOUNT;
	tm_config.step = false;
	result("instructions by steps");
}

static u64 unclaimed(struct tm_cpu *cpu, void *arg)
{
	cpu->unclaimed = *(u64 *)arg;
	tm_violation(cpu, TM_VIOLATION_UNCLAIMED);
	return 0;
}

static void expect_report(u64 causes, const char *text)
{
	reset();
	tm_run(unclaimed, &causes);
	expect(strstr(logged, "unclaimed\n") && strstr(logged, text), text);
	expect(violations() == BIT(TM_VIOLATION_UNCLAIMED), "not counted");
}

static void test_unclaimed(void)
{
	expect_report(GLOBAL_STATUS_TRACE_TOPAPMI, "raised by: Intel PT\n");
	expect_report(TM_PMI_BTS | BIT(0) | BIT(2), "raised by: Intel BTS counters 0x5\n");
	expect_report(GLOBAL_STATUS_BUFFER_OVF, "raised by: PEBS\n");
	reset();
	writes(MSR_IA32_DEBUGCTLMSR, BIT(13));
	expect(strstr(logged, "write of 0x2000 to MSR 0x1d9\n") && !strstr(logged, "raised"),
	       "report of a write");
	result("who raised an interrupt that nobody claims");
}

int main(void)
{
	printf("TAP version 13\n");
	test_vmx();
	test_acknowledged();
	test_masked();
	test_skid();
	test_skid_acknowledged();
	test_skid_stopped();
	test_until();
	test_topa_live();
	test_debugctl();
	test_freeze_counters();
	test_steps();
	test_unclaimed();
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

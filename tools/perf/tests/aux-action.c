// SPDX-License-Identifier: GPL-2.0
/*
 * Test the event terms 'aux-action' and 'keep': their values, the event's attribute, the
 * rule for groups, and the error messages.
 *
 * The machine may have no AUX area PMU. The PMU of software events is used instead,
 * because no event is opened.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <internal/xyarray.h>

#include "aux-action.h"
#include "aux-keep.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "evsel_config.h"
#include "parse-events.h"
#include "pmu.h"
#include "record.h"
#include "session.h"
#include "util/evsel_fprintf.h"
#include "tests.h"
#include "../perf-sys.h"

#define AUX(n)	"dummy/name=" n ",aux-action=start-paused/"
#define ON(n)	"instructions/name=" n ",aux-action=resume/"
#define OFF(n)	"instructions/name=" n ",aux-action=pause/"
#define CNT(n)	"cycles/name=" n "/"

static struct evlist *parse(const char *events)
{
	struct evlist *evlist = evlist__new();
	struct parse_events_error err;

	if (!evlist)
		return NULL;

	parse_events_error__init(&err);
	if (parse_events(evlist, events, &err)) {
		pr_debug("'%s' not parsed: %s\n", events, err.str);
		evlist__delete(evlist);
		evlist = NULL;
	}
	parse_events_error__exit(&err);
	return evlist;
}

static bool error_is(struct parse_events_error *err, const char *str, const char *help)
{
	return err->str && !strcmp(err->str, str) && err->help && !strcmp(err->help, help);
}

static bool fails_with(const char *events, const char *str, const char *help)
{
	struct evlist *evlist = evlist__new();
	struct parse_events_error err;
	bool ok = false;

	if (!evlist)
		return false;

	parse_events_error__init(&err);
	if (parse_events(evlist, events, &err))
		ok = error_is(&err, str, help);
	parse_events_error__exit(&err);
	evlist__delete(evlist);
	return ok;
}

static bool help_of_wrong_value(const char *events)
{
	return fails_with(events, "invalid aux-action", AUX_ACTION_VALUES);
}

static int test__values(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	TEST_ASSERT_EQUAL("start-paused", aux_action__parse("start-paused"),
			  AUX_ACTION_START_PAUSED);
	TEST_ASSERT_EQUAL("pause", aux_action__parse("pause"), AUX_ACTION_PAUSE);
	TEST_ASSERT_EQUAL("resume", aux_action__parse("resume"), AUX_ACTION_RESUME);
	TEST_ASSERT_EQUAL("part of a value", aux_action__parse("pau"), -EINVAL);
	TEST_ASSERT_EQUAL("more than a value", aux_action__parse("pauses"), -EINVAL);
	TEST_ASSERT_EQUAL("nothing", aux_action__parse(""), -EINVAL);

	TEST_ASSERT_VAL("unknown value", help_of_wrong_value("cycles/aux-action=stop/"));
	TEST_ASSERT_VAL("number", help_of_wrong_value("cycles/aux-action=1/"));
	TEST_ASSERT_VAL("no value", help_of_wrong_value("cycles/aux-action/"));
	TEST_ASSERT_VAL("on a breakpoint", help_of_wrong_value("mem:0:x/aux-action=on/"));
	return TEST_OK;
}

static const char *attr_action(struct perf_event_attr *attr)
{
	if (attr->aux_start_paused + attr->aux_pause + attr->aux_resume > 1)
		return "several";
	if (attr->aux_start_paused)
		return "start-paused";
	if (attr->aux_pause)
		return "pause";
	return attr->aux_resume ? "resume" : "none";
}

struct attr_case {
	const char	*event;
	const char	*action;
	/* 0: the frequency of the options */
	unsigned int	period;
};

static const struct attr_case attr_cases[] = {
	{ "cycles",						"none", 0 },
	{ "cycles/aux-action=pause/",				"pause", 0 },
	{ "cycles/aux-action=resume,period=7/",			"resume", 7 },
	{ "cycles/period=7,aux-action=resume/u",		"resume", 7 },
	{ "cpu-clock/aux-action=pause/",			"pause", 0 },
	{ "dummy/aux-action=start-paused/",			"start-paused", 0 },
	{ "r1a/aux-action=resume/",				"resume", 0 },
	{ "1:9/aux-action=pause/",				"pause", 0 },
	{ "L1-dcache-loads/aux-action=pause/",			"pause", 0 },
	/* -F is for counters. A gate on a breakpoint acts on every hit. */
	{ "mem:0x10/aux-action=pause/",				"pause", 1 },
	{ "mem:0x10:x/aux-action=pause/",			"pause", 1 },
	{ "mem:0x10/8/aux-action=resume/",			"resume", 1 },
	{ "mem:0x10/4:rw/aux-action=resume/u",			"resume", 1 },
	{ "mem:0x10/4:rw/aux-action=resume,period=3/",		"resume", 3 },
	{ "mem:0x10/4:rw/period=3,aux-action=resume/",		"resume", 3 },
	/* breakpoints without the term don't change */
	{ "mem:0x10",						"none", 0 },
	{ "mem:0x10:u",						"none", 0 },
	{ "mem:0x10/4:rw:u",					"none", 0 },
};

static int check_attr(const struct attr_case *c)
{
	struct record_opts opts = {
		.user_freq	= 1000,
		.freq		= 1000,
		.user_interval	= ULLONG_MAX,
	};
	struct evlist *evlist = parse(c->event);
	struct perf_event_attr *attr;
	int ret = TEST_OK;

	TEST_ASSERT_VAL("parse", evlist);

	evsel__config(evlist__first(evlist), &opts, NULL);
	attr = &evlist__first(evlist)->core.attr;
	if (strcmp(attr_action(attr), c->action)) {
		pr_debug("%s: action %s\n", c->event, attr_action(attr));
		ret = TEST_FAIL;
	}
	if (attr->freq != !c->period || attr->sample_period != (c->period ?: 1000)) {
		pr_debug("%s: freq %u period %llu\n", c->event, attr->freq,
			 (unsigned long long)attr->sample_period);
		ret = TEST_FAIL;
	}
	evlist__delete(evlist);
	return ret;
}

static int test__attr(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	int ret = TEST_OK;

	for (size_t i = 0; i < ARRAY_SIZE(attr_cases); i++) {
		if (check_attr(&attr_cases[i]))
			ret = TEST_FAIL;
	}
	return ret;
}

static int note_name(FILE *fp __maybe_unused, const char *name, const char *val, void *priv)
{
	char *names = priv;

	if (strstarts(name, "aux_") && !strcmp(val, "1")) {
		strcat(names, name);
		strcat(names, " ");
	}
	return 0;
}

static int test__print(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct perf_event_attr attr = { .aux_start_paused = 1, };
	char names[256] = "";

	perf_event_attr__fprintf(NULL, &attr, note_name, names);
	attr.aux_start_paused = 0;
	attr.aux_pause = 1;
	perf_event_attr__fprintf(NULL, &attr, note_name, names);
	attr.aux_pause = 0;
	attr.aux_resume = 1;
	perf_event_attr__fprintf(NULL, &attr, note_name, names);

	TEST_ASSERT_VAL("names", !strcmp(names, "aux_start_paused aux_pause aux_resume "));
	return TEST_OK;
}

/*
 * The first bit-field is the lowest bit of the first byte on a little endian
 * machine, and the highest bit of the same byte on a big endian one.
 */
static int test__swap(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct perf_event_attr attr = { .aux_action = 0, };
	unsigned char *byte = (unsigned char *)&attr.aux_action;

	byte[0] = 0x05;
	attr.size = __builtin_bswap32(sizeof(attr));
	perf_event__attr_swap(&attr);
	TEST_ASSERT_EQUAL("size", attr.size, (__u32)sizeof(attr));
	TEST_ASSERT_EQUAL("flags", byte[0], 0xa0);
	TEST_ASSERT_EQUAL("rest", (byte[1] | byte[2] | byte[3]), 0);

	/* A file from before the flags: bytes after the attribute don't change */
	byte[0] = 0x05;
	attr.size = __builtin_bswap32(PERF_ATTR_SIZE_VER5);
	perf_event__attr_swap(&attr);
	TEST_ASSERT_EQUAL("shorter attribute", byte[0], 0x05);
	return TEST_OK;
}

static struct perf_pmu *software_pmu(void)
{
	struct perf_pmu *pmu = NULL;

	while ((pmu = perf_pmu__scan(pmu)) != NULL) {
		if (pmu->type == PERF_TYPE_SOFTWARE)
			break;
	}
	return pmu;
}

/* @check the cases 0 to @nr - 1, while the PMU of software events has an AUX area */
static int with_aux_pmu(int (*check)(size_t i), size_t nr)
{
	struct perf_pmu *pmu = software_pmu();
	int ret = TEST_OK;

	if (!pmu)
		return TEST_SKIP;

	pmu->auxtrace = true;
	for (size_t i = 0; i < nr; i++) {
		if (check(i))
			ret = TEST_FAIL;
	}
	pmu->auxtrace = false;
	return ret;
}

struct group_case {
	const char	*events;
	/* names in their final order; members have '<' and the name of their leader */
	const char	*result;
	/* groups in braces, which perf.data describes */
	int		nr_groups;
};

static const struct group_case group_cases[] = {
	{ CNT("c") "," CNT("d"), "c d", 0 },
	{ AUX("a") "," ON("r"), "a r<a", 0 },
	{ AUX("a") "," ON("r") "," OFF("p"), "a r<a p<a", 0 },
	{ "dummy/name=a/," OFF("p"), "a p<a", 0 },
	/* other events stay outside the group */
	{ AUX("a") "," CNT("c") "," ON("r"), "a r<a c", 0 },
	{ CNT("c") "," AUX("a") "," ON("r") "," CNT("d") "," OFF("p"), "c a r<a p<a d", 0 },
	/* braces */
	{ "{" AUX("a") "," ON("r") "," OFF("p") "}", "a r<a p<a", 1 },
	{ "{" AUX("a") "," CNT("c") "}," ON("r"), "a c<a r<a", 1 },
	{ "{" AUX("a") "," ON("r") "}," CNT("c") "," OFF("p"), "a r<a p<a c", 1 },
	{ AUX("a") ",{" CNT("c") "," CNT("d") "}," ON("r"), "a r<a c d<c", 1 },
	/* the last AUX area event before the gate leads it */
	{ AUX("a") "," ON("r") "," AUX("b") "," ON("s") "," OFF("p"), "a r<a b s<b p<b", 0 },
	{ AUX("a") "," AUX("b") "," ON("r"), "a b r<b", 0 },
	{ "{" AUX("a") "," AUX("b") "," ON("r") "}", "a b<a r<a", 1 },
};

static void describe_groups(struct evlist *evlist, char *buf, size_t size)
{
	struct evsel *evsel;
	size_t len = 0;

	evlist__for_each_entry(evlist, evsel) {
		struct evsel *leader = evsel__leader(evsel);

		len += scnprintf(buf + len, size - len, "%s%s", len ? " " : "", evsel->name);
		if (leader != evsel)
			len += scnprintf(buf + len, size - len, "<%s", leader->name);
	}
}

/* Are indices, order and sizes of groups as the rest of perf expects them? */
static bool groups_consistent(struct evlist *evlist)
{
	struct evsel *evsel, *member;
	int idx = 0;

	evlist__for_each_entry(evlist, evsel) {
		int nr = 0;

		if (evsel->core.idx != idx++)
			return false;
		if (!evsel__is_group_leader(evsel))
			continue;
		for_each_group_evsel(member, evsel)
			nr++;
		if (nr != max(evsel->core.nr_members, 1))
			return false;
	}
	return true;
}

static int check_groups(size_t i)
{
	const struct group_case *c = &group_cases[i];
	struct evlist *evlist = parse(c->events);
	char msg[512] = "", groups[256];
	int ret = TEST_OK;

	TEST_ASSERT_VAL("parse", evlist);

	if (evlist__group_aux_gates(evlist, msg, sizeof(msg))) {
		pr_debug("%s: %s\n", c->events, msg);
		ret = TEST_FAIL;
	}
	describe_groups(evlist, groups, sizeof(groups));
	if (strcmp(groups, c->result) || evlist->core.nr_groups != c->nr_groups) {
		pr_debug("%s: %s, %d groups\n", c->events, groups, evlist->core.nr_groups);
		ret = TEST_FAIL;
	}
	if (!groups_consistent(evlist)) {
		pr_debug("%s: inconsistent\n", c->events);
		ret = TEST_FAIL;
	}
	evlist__delete(evlist);
	return ret;
}

static int test__groups(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	return with_aux_pmu(check_groups, ARRAY_SIZE(group_cases));
}

struct misuse_case {
	const char *events;
	const char *msg;
};

static const struct misuse_case misuse_cases[] = {
	{ AUX("a") ",cycles/name=c,aux-action=start-paused/",
	  "'c': aux-action=start-paused is for AUX area events" },
	{ "dummy/name=a,aux-action=pause/", "'a': an AUX area event cannot pause itself" },
	{ AUX("a") ",dummy/name=b,aux-action=resume/",
	  "'b': an AUX area event cannot resume itself" },
	{ OFF("p"), "'p': there is no AUX area event before it that it could pause" },
	{ ON("r") "," AUX("a"),
	  "'r': there is no AUX area event before it that it could resume" },
	{ AUX("a") ",{" CNT("c") "," ON("r") "}",
	  "'r': its group is led by 'c', which is not an AUX area event" },
	{ AUX("a") ",{" ON("r") "," CNT("c") "}",
	  "'r': its group is led by 'r', which is not an AUX area event" },
	{ "{" CNT("c") "," AUX("a") "}," ON("r"),
	  "'r': the AUX area event before it, 'a', must lead its group" },
	{ "{" CNT("c") "," AUX("a") "," ON("r") "}",
	  "'r': the AUX area event before it, 'a', must lead its group" },
	{ AUX("a") ",cycles/name=c,aux-action=pause,aux-action=resume/",
	  "'c': more than one aux-action" },
	{ AUX("a") ",cycles/name=c,aux-output,aux-action=resume/",
	  "'c': aux-output and aux-action=resume exclude each other" },
	{ AUX("a") ",cycles/name=c,period=0,aux-action=pause/",
	  "'c': with period=0 it never overflows" },
	{ AUX("a") ",cycles/name=c,freq=0,aux-action=pause/",
	  "'c': with freq=0 it never overflows" },
};

static int check_misuse(size_t i)
{
	const struct misuse_case *c = &misuse_cases[i];
	struct evlist *evlist = parse(c->events);
	char msg[512] = "";
	int err;

	TEST_ASSERT_VAL("parse", evlist);

	err = evlist__group_aux_gates(evlist, msg, sizeof(msg));
	evlist__delete(evlist);
	if (err == -EINVAL && strstarts(msg, c->msg))
		return TEST_OK;

	pr_debug("%s: error %d, '%s'\n", c->events, err, msg);
	return TEST_FAIL;
}

static int test__misuse(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	return with_aux_pmu(check_misuse, ARRAY_SIZE(misuse_cases));
}

static int test__support(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	TEST_ASSERT_EQUAL("taken", aux_action__kernel_support(0), AUX_ACTION_SUPPORTED);
	TEST_ASSERT_EQUAL("not for this PMU", aux_action__kernel_support(EOPNOTSUPP),
			  AUX_ACTION_SUPPORTED);
	TEST_ASSERT_EQUAL("reserved", aux_action__kernel_support(EINVAL),
			  AUX_ACTION_NO_KERNEL_SUPPORT);
	TEST_ASSERT_EQUAL("too long", aux_action__kernel_support(E2BIG),
			  AUX_ACTION_NO_KERNEL_SUPPORT);
	TEST_ASSERT_EQUAL("not permitted", aux_action__kernel_support(EACCES),
			  AUX_ACTION_UNKNOWN);
	return TEST_OK;
}

/* Descriptors of 3 CPUs, the first open as 7: with which is the one of @cpu opened? */
static int shares_with(struct evsel *evsel, int pid, int cpu, unsigned long *flags)
{
	int group_fd = -1;

	*(int *)xyarray__entry(evsel->core.fd, 0, 0) = 7;
	evsel__share_aux_level(evsel, pid, cpu, 0, &group_fd, flags);
	*(int *)xyarray__entry(evsel->core.fd, 0, 0) = -1;

	return group_fd;
}

static bool shares_with_first(struct evsel *evsel, int pid, int cpu, unsigned long flags)
{
	unsigned long new_flags = flags;

	return shares_with(evsel, pid, cpu, &new_flags) == 7 &&
	       new_flags == (flags | PERF_FLAG_FD_AUX_LEVEL);
}

static int check_threads(struct evsel *aux, struct evsel *gate)
{
	unsigned long first = 0, other = 0, of_gate = 0;

	aux->thread_windows = true;
	TEST_ASSERT_EQUAL("on the first CPU", shares_with(aux, -1, 0, &first), -1);
	TEST_ASSERT_EQUAL("on another CPU", shares_with(aux, -1, 1, &other), 7);
	TEST_ASSERT_EQUAL("a gate", shares_with(gate, -1, 1, &of_gate), -1);
	TEST_ASSERT_VAL("flags", first == PERF_FLAG_FD_AUX_THREADS && other == first && !of_gate);
	return TEST_OK;
}

static int check_level(struct evlist *evlist, bool kernel_shares)
{
	struct evsel *aux = evlist__first(evlist), *gate = evlist__last(evlist);
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;

	TEST_ASSERT_VAL("memory", !perf_evsel__alloc_fd(&aux->core, 3, 1) &&
			!perf_evsel__alloc_fd(&gate->core, 3, 1));
	TEST_ASSERT_VAL("on the first CPU", !shares_with_first(aux, 1, 0, flags));
	TEST_ASSERT_VAL("of all tasks", !shares_with_first(aux, -1, 1, flags));
	TEST_ASSERT_VAL("of a cgroup",
			!shares_with_first(aux, 1, 1, flags | PERF_FLAG_PID_CGROUP));
	TEST_ASSERT_VAL("a gate", !shares_with_first(gate, 1, 1, flags));
	TEST_ASSERT_EQUAL("on other CPUs", shares_with_first(aux, 1, 1, flags), kernel_shares);
	TEST_ASSERT_EQUAL("on other CPUs", shares_with_first(aux, 1, 2, flags), kernel_shares);
	return check_threads(aux, gate);
}

static int test__level(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct evlist *evlist = parse(AUX("a") "," ON("b"));
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr) };
	struct perf_pmu *pmu = software_pmu();
	char msg[512];
	int ret = TEST_SKIP;
	bool kernel_shares;

	TEST_ASSERT_VAL("parse", evlist);
	TEST_ASSERT_VAL("shares", aux_action__flag_support(EBADF));
	TEST_ASSERT_VAL("unknown flag", !aux_action__flag_support(EINVAL));

	kernel_shares = sys_perf_event_open(&attr, 0, -1, -1, PERF_FLAG_FD_AUX_LEVEL) < 0 &&
			errno == EBADF;
	if (pmu) {
		pmu->auxtrace = true;
		ret = evlist__group_aux_gates(evlist, msg, sizeof(msg)) ? TEST_FAIL :
		      check_level(evlist, kernel_shares);
		pmu->auxtrace = false;
	}
	evlist__delete(evlist);
	return ret;
}

static bool help_of_wrong_keep(const char *events)
{
	return fails_with(events, "invalid keep", AUX_KEEP_VALUES);
}

static int test__keep_values(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct evlist *evlist = parse("dummy/aux-action=start-paused,keep=10ms/u");
	struct evsel_config_term *term;

	TEST_ASSERT_VAL("parse", evlist);
	term = evsel__get_config_term(evlist__first(evlist), AUX_KEEP);
	TEST_ASSERT_VAL("term", term && term->val.aux_keep == 10000000);
	evlist__delete(evlist);

	TEST_ASSERT_VAL("ns", aux_keep__parse("250ns") == 250);
	TEST_ASSERT_VAL("s", aux_keep__parse("2s") == 2000000000);
	TEST_ASSERT_VAL("no unit", help_of_wrong_keep("dummy/keep=10/"));
	TEST_ASSERT_VAL("unknown unit", help_of_wrong_keep("dummy/keep=10d/"));
	TEST_ASSERT_VAL("zero", help_of_wrong_keep("dummy/keep=0ms/"));
	TEST_ASSERT_VAL("too long", help_of_wrong_keep("dummy/keep=99999999999h/"));
	TEST_ASSERT_VAL("no number", help_of_wrong_keep("dummy/keep=ms/"));
	TEST_ASSERT_VAL("no value", help_of_wrong_keep("dummy/keep/"));
	return TEST_OK;
}

#define LONG(n)	"dummy/name=" n ",aux-action=start-paused,keep=1ms/"

struct option_case {
	const char		*events;
	struct record_opts	opts;
	/* part of the message; NULL: no error */
	const char		*reason;
};

static const struct option_case keep_cases[] = {
	{ LONG("a") "," ON("r") "," OFF("p"), {}, NULL },
	{ "dummy/keep=1ms/," OFF("p"), {}, NULL },
	{ LONG("a"), {}, "needs windows" },
	{ AUX("a") "," ON("r") ",instructions/name=c,keep=1ms/", {},
	  "'c': keep is for AUX area events" },
	{ "dummy/keep=1ms,keep=2ms/," OFF("p"), {}, "more than one" },
	{ LONG("a") "," OFF("p"), { .auxtrace_snapshot_mode = true, }, "-S writes over" },
	{ LONG("a") "," OFF("p"), { .auxtrace_sample_mode = true, }, "sampling" },
};

static int check_options(const struct option_case *c,
			 int (*check)(struct evlist *evlist, const struct record_opts *opts,
				      char *msg, size_t size))
{
	struct evlist *evlist = parse(c->events);
	char msg[512] = "";
	int err;

	TEST_ASSERT_VAL("parse", evlist);
	TEST_ASSERT_VAL("groups", !evlist__group_aux_gates(evlist, msg, sizeof(msg)));

	err = check(evlist, &c->opts, msg, sizeof(msg));
	evlist__delete(evlist);
	pr_debug("%s: %d %s\n", c->events, err, msg);
	if (c->reason)
		return err == -EINVAL && strstr(msg, c->reason) ? TEST_OK : TEST_FAIL;
	return err ? TEST_FAIL : TEST_OK;
}

static int check_keep(size_t i)
{
	return check_options(&keep_cases[i], evlist__check_aux_keep);
}

static int test__keep(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	return with_aux_pmu(check_keep, ARRAY_SIZE(keep_cases));
}

#define ALL	{ .target = { .system_wide = true, }, }

static const struct option_case thread_cases[] = {
	{ AUX("a") "," ON("r") "," OFF("p"), ALL, NULL },
	{ AUX("a") "," ON("r"), { .target = { .cpu_list = "0", }, }, NULL },
	{ AUX("a") "," ON("r"), {}, "is for -a and -C" },
	{ "dummy/name=a/," OFF("p"), ALL, "'a': with --thread-windows it needs" },
	{ AUX("a"), ALL, "needs windows" },
};

static int check_thread_windows(size_t i)
{
	return check_options(&thread_cases[i], evlist__check_thread_windows);
}

static int test__thread_windows(struct test_suite *t __maybe_unused,
				int subtest __maybe_unused)
{
	return with_aux_pmu(check_thread_windows, ARRAY_SIZE(thread_cases));
}

static int test__keep_support(struct test_suite *t __maybe_unused, int subtest __maybe_unused)
{
	struct evlist *evlist = parse("dummy/name=a/");
	struct evsel *evsel;
	char msg[512];

	TEST_ASSERT_VAL("parse", evlist);
	evsel = evlist__first(evlist);
	evsel__aux_keep_strerror(evsel, ENOTTY, msg, sizeof(msg));
	TEST_ASSERT_VAL("kernel", strstr(msg, "'a': this kernel cannot discard"));
	evsel__aux_keep_strerror(evsel, EOPNOTSUPP, msg, sizeof(msg));
	TEST_ASSERT_VAL("PMU", strstr(msg, "'a': the driver of its PMU cannot discard"));
	evlist__delete(evlist);
	return TEST_OK;
}

static struct test_case tests__aux_action[] = {
	TEST_CASE("aux-action: values", values),
	TEST_CASE("aux-action: attribute of the event", attr),
	TEST_CASE("aux-action: printed attribute", print),
	TEST_CASE("aux-action: attribute of other endianness", swap),
	TEST_CASE("aux-action: groups", groups),
	TEST_CASE("aux-action: misuse", misuse),
	TEST_CASE("aux-action: results of the probes", support),
	TEST_CASE("aux-action: one state for a task", level),
	TEST_CASE("aux-action: windows of threads", thread_windows),
	TEST_CASE("aux-action: keep, values", keep_values),
	TEST_CASE("aux-action: keep, misuse", keep),
	TEST_CASE("aux-action: keep, errors of the kernel", keep_support),
	{	.name = NULL, }
};

struct test_suite suite__aux_action = {
	.desc		= "aux-action event term",
	.test_cases	= tests__aux_action,
};

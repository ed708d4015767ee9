// SPDX-License-Identifier: GPL-2.0
/*
 * test_aux: debugfs.
 *
 *	points		names of the places at which an NMI can be fired
 *	nmi_at		rules for that: POINT[:TAG[:EVERY]], with commas between
 *	stats		counters of driver and engine, per CPU. Any write resets
 *	actions		counts of pauses and resumes: for each open event, and the sum
 *			over all. Any write forgets the events that are closed
 *	kernel_counter	creates a counter owned by the kernel
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "test_perf_aux.h"
#include "test_perf_nmi.h"

/*
 * Points, and rules for them
 */

static const char * const test_aux_point_names[] = {
	[START_ENTRY]		= "start-entry",
	[START_HELD]		= "start-held",
	[START_BEGUN]		= "start-begun",
	[START_ARMED]		= "start-armed",
	[START_ON]		= "start-on",
	[START_RELEASED]	= "start-released",
	[STOP_ENTRY]		= "stop-entry",
	[STOP_HELD]		= "stop-held",
	[STOP_CLOSED]		= "stop-closed",
	[STOP_OFF]		= "stop-off",
	[STOP_ENDED]		= "stop-ended",
	[STOP_RELEASED]		= "stop-released",
	[PAUSE_ENTRY]		= "pause-entry",
	[PAUSE_EXIT]		= "pause-exit",
	[RESUME_ENTRY]		= "resume-entry",
	[RESUME_EXIT]		= "resume-exit",
	[TICK_HELD]		= "tick-held",
	[TICK_CLOSED]		= "tick-closed",
	[TICK_OFF]		= "tick-off",
	[TICK_ENDED]		= "tick-ended",
	[TICK_BEGUN]		= "tick-begun",
	[TICK_ON]		= "tick-on",
	[TICK_RELEASED]		= "tick-released",
	[SNAPSHOT_HELD]		= "snapshot-held",
	[SNAPSHOT_OFF]		= "snapshot-off",
	[SNAPSHOT_COPIED]	= "snapshot-copied",
	[SNAPSHOT_ON]		= "snapshot-on",
	[SNAPSHOT_RELEASED]	= "snapshot-released",
	[ENGINE_ON]		= "engine-on",
	[ENGINE_WRITE]		= "engine-write",
	[ENGINE_OFF]		= "engine-off",
	[ENGINE_REWIND]		= "engine-rewind",
};

#define TEST_AUX_RULES		4

/**
 * struct test_aux_rule - fire an NMI at a point
 * @tag: tag of the NMI, see test_perf_nmi_fire()
 * @every: fires each time that this number of hits is reached; never zero once the
 *	   rule was used
 * @hits: number of times that a CPU reached the point
 */
struct test_aux_rule {
	u8		tag;
	unsigned int	every;
	atomic_t	hits;
};

/**
 * struct test_aux_rules - rules of one point
 * @nr: number of rules in force. Published with release when they are complete.
 * @rule: the rules. Readers don't lock: a reader that is in the list while it is
 *	  replaced fires by the old rule or by the new one.
 */
struct test_aux_rules {
	unsigned int		nr;
	struct test_aux_rule	rule[TEST_AUX_RULES];
};

static struct test_aux_rules test_aux_rules[TEST_AUX_NR_POINTS];
static DEFINE_MUTEX(test_aux_rules_lock);

/* No static key: it would patch the text that tests run at the same time. */
void test_aux_point(enum test_aux_point point)
{
	struct test_aux_rules *rules = &test_aux_rules[point];
	/* Pairs with the release in test_aux_rule_add(). */
	unsigned int nr = smp_load_acquire(&rules->nr);
	struct test_aux_rule *rule;

	for (rule = rules->rule; rule < rules->rule + nr; rule++) {
		if ((unsigned int)atomic_inc_return(&rule->hits) %
		    READ_ONCE(rule->every))
			continue;

		if (test_perf_nmi_fire(READ_ONCE(rule->tag)))
			test_aux_count(TEST_AUX_NMI_FIRED);
		else
			test_aux_count(TEST_AUX_NMI_SKIPPED);
	}
}

NOKPROBE_SYMBOL(test_aux_point);

static int test_aux_points_show(struct seq_file *m, void *v)
{
	int i;

	for (i = 0; i < TEST_AUX_NR_POINTS; i++)
		seq_printf(m, "%s\n", test_aux_point_names[i]);

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(test_aux_points);

static int test_aux_nmi_at_show(struct seq_file *m, void *v)
{
	struct test_aux_rules *rules;
	const char *separator = "";
	int i, j;

	mutex_lock(&test_aux_rules_lock);
	for (i = 0; i < TEST_AUX_NR_POINTS; i++) {
		rules = &test_aux_rules[i];
		for (j = 0; j < rules->nr; j++) {
			seq_printf(m, "%s%s:%u:%u", separator, test_aux_point_names[i],
				   rules->rule[j].tag, rules->rule[j].every);
			separator = ",";
		}
	}
	mutex_unlock(&test_aux_rules_lock);
	seq_putc(m, '\n');

	return 0;
}

static int test_aux_rule_add(int point, u8 tag, unsigned int every)
{
	struct test_aux_rules *rules = &test_aux_rules[point];
	struct test_aux_rule *rule = &rules->rule[rules->nr];

	if (rules->nr == TEST_AUX_RULES)
		return -ENOSPC;

	WRITE_ONCE(rule->tag, tag);
	WRITE_ONCE(rule->every, every);
	atomic_set(&rule->hits, 0);
	/* Pairs with the acquire in test_aux_point(). */
	smp_store_release(&rules->nr, rules->nr + 1);

	return 0;
}

static int test_aux_rule_parse(char *text)
{
	const char *name = strsep(&text, ":");
	const char *tag_text = strsep(&text, ":");
	unsigned int every = 1;
	u8 tag = 0;
	int point, ret;

	if (tag_text && kstrtou8(tag_text, 0, &tag))
		return -EINVAL;
	if (text && (kstrtouint(text, 0, &every) || !every))
		return -EINVAL;

	if (strcmp(name, "all")) {
		point = match_string(test_aux_point_names, TEST_AUX_NR_POINTS, name);
		return point < 0 ? point : test_aux_rule_add(point, tag, every);
	}

	for (point = 0; point < TEST_AUX_NR_POINTS; point++) {
		ret = test_aux_rule_add(point, tag, every);
		if (ret)
			return ret;
	}

	return 0;
}

static void test_aux_rules_clear(void)
{
	int i;

	for (i = 0; i < TEST_AUX_NR_POINTS; i++)
		WRITE_ONCE(test_aux_rules[i].nr, 0);
}

/* Either the whole list takes effect, or nothing. */
static int test_aux_rules_parse(char *text)
{
	char *word;
	int ret = 0;

	mutex_lock(&test_aux_rules_lock);
	test_aux_rules_clear();
	while (!ret && (word = strsep(&text, ",")))
		ret = test_aux_rule_parse(word);
	if (ret)
		test_aux_rules_clear();
	mutex_unlock(&test_aux_rules_lock);

	return ret;
}

static ssize_t test_aux_nmi_at_write(struct file *file, const char __user *ubuf,
				     size_t len, loff_t *ppos)
{
	char *buf, *text;
	int ret;

	if (len >= PAGE_SIZE)
		return -EINVAL;

	buf = memdup_user_nul(ubuf, len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);

	text = strim(buf);
	if (!*text)
		ret = test_aux_rules_parse(NULL);
	else if (IS_ENABLED(CONFIG_TEST_PERF_NMI))
		ret = test_aux_rules_parse(text);
	else
		ret = -EOPNOTSUPP;
	kfree(buf);

	return ret ?: len;
}

/*
 * Counters
 */

DEFINE_PER_CPU(unsigned long [TEST_AUX_NR_STATS], test_aux_stats);

static const char * const test_aux_stat_names[] = {
	[TEST_AUX_STARTS]		= "starts",
	[TEST_AUX_STOPS]		= "stops",
	[TEST_AUX_PAUSES]		= "pauses",
	[TEST_AUX_RESUMES]		= "resumes",
	[TEST_AUX_ON]			= "on",
	[TEST_AUX_OFF]			= "off",
	[TEST_AUX_NO_ROOM]		= "no_room",
	[TEST_AUX_REWINDS]		= "rewinds",
	[TEST_AUX_PACKETS]		= "packets",
	[TEST_AUX_BEHIND]		= "behind",
	[TEST_AUX_TRUNCATED]		= "truncated",
	[TEST_AUX_PARTIAL]		= "partial",
	[TEST_AUX_TICKS]		= "ticks",
	[TEST_AUX_TURNOVERS]		= "turnovers",
	[TEST_AUX_SNAPSHOTS]		= "snapshots",
	[TEST_AUX_SNAPSHOTS_MISSED]	= "snapshots_missed",
	[TEST_AUX_NMI_FIRED]		= "nmi_fired",
	[TEST_AUX_NMI_SKIPPED]		= "nmi_skipped",
	[TEST_AUX_PROTOCOL_ERRORS]	= "protocol_errors",
};

static int test_aux_stats_show(struct seq_file *m, void *v)
{
	unsigned long value, total;
	int i, cpu;

	for (i = 0; i < TEST_AUX_NR_STATS; i++) {
		total = 0;
		for_each_possible_cpu(cpu) {
			value = READ_ONCE(per_cpu(test_aux_stats[i], cpu));
			seq_printf(m, "cpu%d.%s %lu\n", cpu,
				   test_aux_stat_names[i], value);
			total += value;
		}
		seq_printf(m, "total.%s %lu\n", test_aux_stat_names[i], total);
	}

	return 0;
}

/* A counter that is incremented meanwhile may survive the reset. */
static ssize_t test_aux_stats_write(struct file *file, const char __user *ubuf,
				    size_t len, loff_t *ppos)
{
	int i, cpu;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < TEST_AUX_NR_STATS; i++)
			WRITE_ONCE(per_cpu(test_aux_stats[i], cpu), 0);
	}

	return len;
}

/*
 * Accounting of pause and resume
 */

/**
 * struct test_aux_account - counts of pauses and resumes
 * @requested: number of actions that gates requested
 * @done: number of requests that are done: executed, or superseded by a later one
 * @executed: number of requests that were executed
 * @events: number of events in this sum
 */
struct test_aux_account {
	unsigned long	requested;
	unsigned long	done;
	unsigned long	executed;
	unsigned long	events;
};

/* Open events of all the PMUs, linked by active_entry, and the sum of closed ones. */
static LIST_HEAD(test_aux_events);
static struct test_aux_account test_aux_closed;
static DEFINE_MUTEX(test_aux_events_lock);

/*
 * An event that is still being opened may exchange its level for that of another
 * one. Its context is set after that.
 */
static const struct perf_aux_level *test_aux_level(const struct perf_event *event)
{
	/* Pairs with perf_install_in_context(). */
	return smp_load_acquire(&event->ctx) ? event->aux_action.level : NULL;
}

/* Racy while gates overflow, exact otherwise. */
static void test_aux_account_add(struct test_aux_account *sum,
				 const struct perf_aux_level *level)
{
	sum->requested += READ_ONCE(level->request) >> PERF_AUX_REQUEST_SHIFT;
	sum->done += READ_ONCE(level->done) >> PERF_AUX_REQUEST_SHIFT;
	sum->executed += READ_ONCE(level->executed);
}

/* Events may share a level. It is counted with the first of them on the list. */
static struct perf_event *test_aux_first_with(const struct perf_aux_level *level)
{
	struct perf_event *event;

	list_for_each_entry(event, &test_aux_events, active_entry) {
		if (test_aux_level(event) == level)
			return event;
	}

	return NULL;
}

static void test_aux_account_close(struct perf_event *event)
{
	const struct perf_aux_level *level = test_aux_level(event);

	mutex_lock(&test_aux_events_lock);
	list_del(&event->active_entry);
	if (level && !test_aux_first_with(level))
		test_aux_account_add(&test_aux_closed, level);
	test_aux_closed.events++;
	mutex_unlock(&test_aux_events_lock);
}

/* Called before the event can be used, so that none of its actions is missed. */
void test_aux_account_event(struct perf_event *event)
{
	event->destroy = test_aux_account_close;
	mutex_lock(&test_aux_events_lock);
	list_add_tail(&event->active_entry, &test_aux_events);
	mutex_unlock(&test_aux_events_lock);
}

static void test_aux_account_show(struct seq_file *m, const char *prefix,
				  const struct test_aux_account *account)
{
	seq_printf(m, "%s.requested %lu\n", prefix, account->requested);
	seq_printf(m, "%s.executed %lu\n", prefix, account->executed);
	seq_printf(m, "%s.superseded %lu\n", prefix,
		   account->done - account->executed);
	seq_printf(m, "%s.pending %lu\n", prefix,
		   account->requested - account->done);
}

static void test_aux_event_show(struct seq_file *m, const struct perf_event *event)
{
	const struct perf_aux_level *level = test_aux_level(event);
	struct test_aux_account account = {};
	char prefix[32];

	if (!level)
		return;

	snprintf(prefix, sizeof(prefix), "event.%llu", event->id);
	test_aux_account_add(&account, level);
	test_aux_account_show(m, prefix, &account);
	seq_printf(m, "%s.paused %lu\n", prefix,
		   READ_ONCE(level->request) & PERF_AUX_PAUSED);
}

/*
 * Events of other PMUs that the reader has opened, for tests of their drivers. An
 * event stays on this list until the file is closed.
 */
static void test_aux_own_events_show(struct seq_file *m)
{
	struct perf_event *event;

	mutex_lock(&current->perf_event_mutex);
	list_for_each_entry(event, &current->perf_event_list, owner_entry) {
		if (event->pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE &&
		    event->destroy != test_aux_account_close)
			test_aux_event_show(m, event);
	}
	mutex_unlock(&current->perf_event_mutex);
}

static int test_aux_actions_show(struct seq_file *m, void *v)
{
	const struct perf_aux_level *level;
	struct test_aux_account total;
	struct perf_event *event;

	mutex_lock(&test_aux_events_lock);
	total = test_aux_closed;
	list_for_each_entry(event, &test_aux_events, active_entry) {
		level = test_aux_level(event);
		test_aux_event_show(m, event);
		if (level && test_aux_first_with(level) == event)
			test_aux_account_add(&total, level);
		total.events++;
	}
	mutex_unlock(&test_aux_events_lock);
	test_aux_own_events_show(m);

	test_aux_account_show(m, "total", &total);
	seq_printf(m, "total.events %lu\n", total.events);

	return 0;
}

static ssize_t test_aux_actions_write(struct file *file, const char __user *ubuf,
				      size_t len, loff_t *ppos)
{
	mutex_lock(&test_aux_events_lock);
	memset(&test_aux_closed, 0, sizeof(test_aux_closed));
	mutex_unlock(&test_aux_events_lock);

	return len;
}

/*
 * Create a counter owned by the kernel, with @action as attr.aux_action, and release
 * it again. The result of the write is that of the creation. User space has no other
 * way to create one.
 */
static int test_aux_kernel_counter_set(void *data, u64 action)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_SW_DUMMY,
		.aux_action	= action,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(),
						 NULL, NULL, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);

	perf_event_release_kernel(event);

	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(test_aux_kernel_counter, NULL, test_aux_kernel_counter_set,
			 "%llu\n");

#define TEST_AUX_FILE(_name)						\
static int _name##_open(struct inode *inode, struct file *file)		\
{									\
	return single_open(file, _name##_show, NULL);			\
}									\
									\
static const struct file_operations _name##_fops = {			\
	.owner		= THIS_MODULE,					\
	.open		= _name##_open,					\
	.read		= seq_read,					\
	.write		= _name##_write,				\
	.llseek		= seq_lseek,					\
	.release	= single_release,				\
}

TEST_AUX_FILE(test_aux_nmi_at);
TEST_AUX_FILE(test_aux_stats);
TEST_AUX_FILE(test_aux_actions);

static struct dentry *test_aux_dir;

void __init test_aux_debugfs_init(void)
{
	test_aux_dir = debugfs_create_dir("test_perf_aux", NULL);
	debugfs_create_file("points", 0400, test_aux_dir, NULL, &test_aux_points_fops);
	debugfs_create_file("nmi_at", 0600, test_aux_dir, NULL, &test_aux_nmi_at_fops);
	debugfs_create_file("stats", 0600, test_aux_dir, NULL, &test_aux_stats_fops);
	debugfs_create_file("actions", 0600, test_aux_dir, NULL, &test_aux_actions_fops);
	debugfs_create_file_unsafe("kernel_counter", 0200, test_aux_dir, NULL,
				   &test_aux_kernel_counter);
}

void test_aux_debugfs_exit(void)
{
	debugfs_remove_recursive(test_aux_dir);
}

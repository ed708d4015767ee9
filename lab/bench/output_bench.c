// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions for writing a record to a buffer that one CPU writes to, on all paths that
 * it may take. The same file is built for a kernel with the series and for one without
 * it, and the figures are compared.
 *
 * The event and its buffer are fake, and known to this module only.
 *
 * Output: /sys/kernel/debug/output_bench, lines "name, min, max".
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "instructions.h"
#include "internal.h"

#define PAGES	16

static unsigned long alloc_address, free_address;
static unsigned long begin_address, copy_address, end_address;
module_param_named(rb_alloc, alloc_address, ulong, 0);
module_param_named(rb_free, free_address, ulong, 0);
module_param_named(perf_output_begin, begin_address, ulong, 0);
module_param_named(perf_output_copy, copy_address, ulong, 0);
module_param_named(perf_output_end, end_address, ulong, 0);

static struct perf_buffer *(*alloc_buffer)(int nr_pages, long watermark, int cpu, int flags);
static void (*free_buffer)(struct perf_buffer *rb);
static int (*begin)(struct perf_output_handle *handle, struct perf_sample_data *data,
		    struct perf_event *event, unsigned int size);
static unsigned int (*copy)(struct perf_output_handle *handle, const void *buf,
			    unsigned int len);
static void (*end)(struct perf_output_handle *handle);

static struct perf_event *event;
static struct perf_buffer *buffer;
static struct perf_output_handle outer, inner;
static struct perf_sample_data data;
static u8 record[512];
static unsigned int size;
static unsigned long written, refused;

static void write_record(void)
{
	if (begin(&inner, &data, event, size)) {
		refused++;
		return;
	}

	copy(&inner, record, size);
	end(&inner);
	written++;
}

static noinline void no_code(void)
{
	barrier();
}

/*
 * Called before each run: resets the place in the buffer, so that all runs are alike.
 */

static void empty(void)
{
	local_set(&buffer->head, 0);
	local_set(&buffer->lost, 0);
	local_set(&buffer->wakeup, 0);
	buffer->user_page->data_head = 0;
	buffer->user_page->data_tail = 0;
	buffer->nest = 0;
}

static void full(void)
{
	empty();
	buffer->user_page->data_tail = sizeof(u64);
}

static void one_lost(void)
{
	empty();
	local_set(&buffer->lost, 1);
}

static void half_written(void)
{
	empty();
	begin(&outer, &data, event, size);
}

/* @writes: each run must write a record; otherwise each must be refused. */
static int show(struct seq_file *m, const char *name, void (*prepare)(void), bool writes)
{
	struct instructions n;

	written = 0;
	refused = 0;
	n = count_instructions(prepare, write_record);
	if (written != (writes ? ALL_RUNS : 0) || refused != (writes ? 0 : ALL_RUNS)) {
		pr_err("output_bench: %s: %lu written, %lu refused\n", name, written, refused);
		return -EPROTO;
	}

	show_instructions(m, name, n, count_instructions(NULL, no_code));
	return 0;
}

static int show_paused(struct seq_file *m)
{
	int err;

	buffer->paused = 1;
	err = show(m, "output-paused", empty, false);
	buffer->paused = 0;

	return err;
}

static int show_backward(struct seq_file *m)
{
	int err;

	event->attr.write_backward = 1;
	err = show(m, "output-backward", empty, true);
	event->attr.write_backward = 0;

	return err;
}

static int output_bench_show(struct seq_file *m, void *unused)
{
	int err;

	show_calibration(m);

	size = 48;
	err = show(m, "output-48", empty, true) ?:
	      show(m, "output-nested", half_written, true) ?:
	      show(m, "output-lost", one_lost, true) ?:
	      show(m, "output-full", full, false) ?:
	      show_paused(m) ?:
	      show_backward(m);
	if (err)
		return err;

	size = 512;
	return show(m, "output-512", empty, true);
}
DEFINE_SHOW_ATTRIBUTE(output_bench);

static struct dentry *file;

static int __init output_bench_init(void)
{
	if (!alloc_address || !free_address || !begin_address || !copy_address ||
	    !end_address)
		return -EINVAL;

	alloc_buffer = (void *)alloc_address;
	free_buffer = (void *)free_address;
	begin = (void *)begin_address;
	copy = (void *)copy_address;
	end = (void *)end_address;

	event = kzalloc(sizeof(*event), GFP_KERNEL);
	buffer = alloc_buffer(PAGES, PAGES * PAGE_SIZE, -1, RING_BUFFER_WRITABLE);
	if (!event || !buffer) {
		kfree(event);
		return -ENOMEM;
	}

	event->rb = buffer;
	file = debugfs_create_file("output_bench", 0400, NULL, NULL, &output_bench_fops);

	return 0;
}

static void __exit output_bench_exit(void)
{
	debugfs_remove(file);
	free_buffer(buffer);
	kfree(event);
}

module_init(output_bench_init);
module_exit(output_bench_exit);
MODULE_DESCRIPTION("Instructions of a record in a buffer of one CPU");
MODULE_LICENSE("GPL");

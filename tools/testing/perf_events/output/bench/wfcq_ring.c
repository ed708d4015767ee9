// SPDX-License-Identifier: GPL-2.0
/*
 * liburcu's wait-free concurrent queue. It links nodes and does not say where they
 * come from: each writer has its own, one behind the other in use, and gets one back
 * when the reader has read it.
 */
#include <stdlib.h>

#define _LGPL_SOURCE
#include <urcu/wfcqueue.h>

#include "ring.h"

struct node {
	struct cds_wfcq_node	link;
	int			used;
	unsigned int		size;
	unsigned char		record[];
};

struct pool {
	_Alignas(CACHE_LINE) unsigned char *nodes;
	unsigned long next;
};

struct wfcq {
	_Alignas(CACHE_LINE) struct cds_wfcq_tail tail;
	_Alignas(CACHE_LINE) struct __cds_wfcq_head head;
	size_t node_size;
	unsigned long nodes;	/* of each writer */
	unsigned int writers;
	struct pool pools[];
};

static void *create(unsigned int writers, size_t bytes, unsigned int size)
{
	struct wfcq *wfcq = ring_alloc(sizeof(*wfcq) + writers * sizeof(struct pool));

	wfcq->node_size = (sizeof(struct node) + size + CACHE_LINE - 1) & -CACHE_LINE;
	wfcq->nodes = bytes / writers / size;
	wfcq->writers = writers;
	for (unsigned int i = 0; i < writers; i++)
		wfcq->pools[i].nodes = ring_alloc(wfcq->nodes * wfcq->node_size);
	__cds_wfcq_init(&wfcq->head, &wfcq->tail);
	return wfcq;
}

static bool write_record(void *ring, unsigned int writer, const void *record,
			 unsigned int size)
{
	struct wfcq *wfcq = ring;
	struct pool *pool = &wfcq->pools[writer];
	struct node *node = (void *)(pool->nodes + pool->next * wfcq->node_size);

	if (__atomic_load_n(&node->used, __ATOMIC_ACQUIRE))
		return false;
	if (++pool->next == wfcq->nodes)
		pool->next = 0;
	node->used = 1;
	node->size = size;
	memcpy(node->record, record, size);
	cds_wfcq_node_init(&node->link);
	cds_wfcq_enqueue(&wfcq->head, &wfcq->tail, &node->link);
	return true;
}

static void read_records(void *ring, struct sink *sink)
{
	struct wfcq *wfcq = ring;
	struct cds_wfcq_node *link;

	for (;;) {
		struct node *node;

		link = __cds_wfcq_dequeue_nonblocking(&wfcq->head, &wfcq->tail);
		if (!link || link == CDS_WFCQ_WOULDBLOCK)
			return;
		node = caa_container_of(link, struct node, link);
		sink_take(sink, node->record, node->size);
		__atomic_store_n(&node->used, 0, __ATOMIC_RELEASE);
	}
}

static void destroy(void *ring)
{
	struct wfcq *wfcq = ring;

	for (unsigned int i = 0; i < wfcq->writers; i++)
		free(wfcq->pools[i].nodes);
	free(wfcq);
}

const struct ring wfcq_ring = {
	.name	 = "liburcu's wfcqueue",
	.create	 = create,
	.write	 = write_record,
	.read	 = read_records,
	.destroy = destroy,
};

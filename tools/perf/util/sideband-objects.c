// SPDX-License-Identifier: GPL-2.0
/*
 * sideband-objects.c: State that belongs to no task: kernel symbols, cgroups, ...
 *
 * One record is in force for each object, i.e. for each kind and key, until a newer
 * record for it, or one that says that the object is gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include "sideband-state.h"

/*
 * The limit for each kind. Beyond it the oldest object is dropped. It is needed because
 * the record of an end can be lost, and without the permission to look up cgroups their
 * ends are never known. SIDEBAND_MAX_POKES is larger, because a tracer can patch the
 * entries of all kernel functions.
 */
static const unsigned int max_objects[SIDEBAND_KINDS] = {
	[SIDEBAND_KERNEL_MAP]	 = SIDEBAND_MAX_OBJECTS,
	[SIDEBAND_KSYMBOL]	 = SIDEBAND_MAX_OBJECTS,
	[SIDEBAND_KSYMBOL_GONE]	 = SIDEBAND_MAX_OBJECTS,
	[SIDEBAND_BPF]		 = SIDEBAND_MAX_OBJECTS,
	[SIDEBAND_TEXT_POKE]	 = SIDEBAND_MAX_POKES,
	[SIDEBAND_CGROUP]	 = SIDEBAND_MAX_OBJECTS,
	[SIDEBAND_HW_ID]	 = SIDEBAND_MAX_OBJECTS,
};

static int key__cmp(const struct sideband_key *a, const struct sideband_key *b)
{
	unsigned int i;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	for (i = 0; i < 3; i++) {
		if (a->val[i] != b->val[i])
			return a->val[i] < b->val[i] ? -1 : 1;
	}
	return 0;
}

/* The first object with this key or a greater one */
static struct sideband_object *store__lower_bound(struct sideband_store *store,
						  const struct sideband_key *key)
{
	struct rb_node *node = store->objects.rb_node;
	struct sideband_object *obj, *found = NULL;

	while (node) {
		obj = rb_entry(node, struct sideband_object, rb);
		if (key__cmp(&obj->key, key) < 0) {
			node = node->rb_right;
		} else {
			found = obj;
			node = node->rb_left;
		}
	}
	return found;
}

static struct sideband_object *store__find(struct sideband_store *store,
					   const struct sideband_key *key)
{
	struct sideband_object *obj = store__lower_bound(store, key);

	return obj && !key__cmp(&obj->key, key) ? obj : NULL;
}

static struct sideband_object *store__add(struct sideband_store *store,
					  const struct sideband_key *key)
{
	struct rb_node **p = &store->objects.rb_node, *parent = NULL;
	struct sideband_object *obj = sideband_store__alloc(store, sizeof(*obj));

	if (!obj)
		return NULL;
	*obj = (struct sideband_object) { .key = *key, .watched.key = &obj->key, };
	while (*p) {
		parent = *p;
		if (key__cmp(key, &rb_entry(parent, struct sideband_object, rb)->key) < 0)
			p = &parent->rb_left;
		else
			p = &parent->rb_right;
	}
	rb_link_node(&obj->rb, parent, p);
	rb_insert_color(&obj->rb, &store->objects);
	list_add_tail(&obj->age, &store->kinds[key->kind].list);
	store->kinds[key->kind].nr++;
	if (key->kind == SIDEBAND_CGROUP)
		sideband_ends__watch(store, &obj->watched);
	return obj;
}

void sideband_objects__end(struct sideband_store *store, struct sideband_object *obj)
{
	rb_erase(&obj->rb, &store->objects);
	list_del(&obj->age);
	store->kinds[obj->key.kind].nr--;
	if (obj->key.kind == SIDEBAND_CGROUP)
		sideband_ends__unwatch(&obj->watched);
	sideband_record__put(store, obj->rec);
	sideband_store__free(store, obj, sizeof(*obj));
}

static void store__limit(struct sideband_store *store, enum sideband_kind kind)
{
	struct sideband_kind_list *objects = &store->kinds[kind];

	if (objects->nr <= max_objects[kind])
		return;
	sideband_objects__end(store, list_first_entry(&objects->list, struct sideband_object, age));
	store->stats.dropped++;
}

/* Put @rec in force for @key, unless a newer record is in force */
static int store__set(struct sideband_store *store, const struct sideband_key *key,
		      struct sideband_record *rec)
{
	struct sideband_object *obj = store__find(store, key);

	if (obj && sideband_record__older(rec, obj->rec))
		return 0;
	if (!obj)
		obj = store__add(store, key);
	if (!obj)
		return -ENOMEM;
	sideband_record__put(store, obj->rec);
	obj->rec = sideband_record__get(rec);
	sideband_ends__recheck(store, &obj->watched);
	list_move_tail(&obj->age, &store->kinds[key->kind].list);
	store__limit(store, key->kind);
	return 0;
}

/* Drop the record in force for @key if @rec is newer. Is the dropped record in the file? */
static bool store__clear(struct sideband_store *store, const struct sideband_key *key,
			 const struct sideband_record *rec)
{
	struct sideband_object *obj = store__find(store, key);
	bool in_file;

	if (!obj || sideband_record__older(rec, obj->rec))
		return false;
	in_file = obj->rec->seq <= store->writing;
	sideband_objects__end(store, obj);
	return in_file;
}

/* The code in this range is gone: drop its text changes */
static void store__clear_pokes(struct sideband_store *store, u64 start, u64 len,
			       const struct sideband_record *rec)
{
	struct sideband_key key = { SIDEBAND_TEXT_POKE, { start, }, };
	struct sideband_object *obj = store__lower_bound(store, &key);
	struct rb_node *next;

	while (obj && obj->key.kind == SIDEBAND_TEXT_POKE && obj->key.val[0] - start < len) {
		next = rb_next(&obj->rb);
		if (sideband_record__older(obj->rec, rec))
			sideband_objects__end(store, obj);
		obj = rb_entry_safe(next, struct sideband_object, rb);
	}
}

static int apply_ksymbol(struct sideband_store *store, struct sideband_record *rec)
{
	const struct perf_record_ksymbol *ksymbol = &sideband_record__event(rec)->ksymbol;
	struct sideband_key key = { SIDEBAND_KSYMBOL, { ksymbol->addr, }, };

	if (!(ksymbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		return store__set(store, &key, rec);

	store__clear_pokes(store, ksymbol->addr, ksymbol->len, rec);
	if (!store__clear(store, &key, rec))
		return 0;
	/* a reader of the file has to forget the symbol, too */
	key.kind = SIDEBAND_KSYMBOL_GONE;
	return store__set(store, &key, rec);
}

static int apply_bpf_event(struct sideband_store *store, struct sideband_record *rec)
{
	const struct perf_record_bpf_event *bpf = &sideband_record__event(rec)->bpf;
	struct sideband_key key = { SIDEBAND_BPF, { bpf->id, }, };

	if (bpf->type != PERF_BPF_EVENT_PROG_UNLOAD)
		return store__set(store, &key, rec);
	if (!store__clear(store, &key, rec) && store->ops)
		store->ops->forget_bpf(store->priv, bpf->id);
	return 0;
}

static int apply_text_poke(struct sideband_store *store, struct sideband_record *rec)
{
	const struct perf_record_text_poke_event *poke = &sideband_record__event(rec)->text_poke;
	struct sideband_key key = { SIDEBAND_TEXT_POKE,
				    { poke->addr, poke->old_len, poke->new_len, }, };

	return store__set(store, &key, rec);
}

static int apply_cgroup(struct sideband_store *store, struct sideband_record *rec)
{
	struct sideband_key key = { SIDEBAND_CGROUP,
				    { sideband_record__event(rec)->cgroup.id, }, };

	return store__set(store, &key, rec);
}

static int apply_kernel_map(struct sideband_store *store, struct sideband_record *rec)
{
	const union perf_event *event = sideband_record__event(rec);
	struct sideband_key key = { SIDEBAND_KERNEL_MAP,
				    { event->mmap.pid, event->mmap.start,
				      event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK, }, };

	return store__set(store, &key, rec);
}

/*
 * The record maps a bit of the PEBS status on a CPU to an event. CPU and event are in
 * the fields after the record's body.
 */
static int apply_hw_id(struct sideband_store *store, struct sideband_record *rec)
{
	union perf_event *event = sideband_record__event(rec);
	struct sideband_key key = { SIDEBAND_HW_ID, { event->aux_output_hw_id.hw_id, }, };
	void *cpu = sideband_store__trailer(store, event, PERF_SAMPLE_CPU);
	void *id = sideband_store__trailer(store, event, PERF_SAMPLE_ID) ?:
		   sideband_store__trailer(store, event, PERF_SAMPLE_IDENTIFIER);

	if (cpu)
		memcpy(&key.val[1], cpu, sizeof(u32));
	if (id)
		memcpy(&key.val[2], id, sizeof(u64));
	return store__set(store, &key, rec);
}

int sideband_objects__apply(struct sideband_store *store, struct sideband_record *rec)
{
	switch (sideband_record__event(rec)->header.type) {
	case PERF_RECORD_KSYMBOL:
		return apply_ksymbol(store, rec);
	case PERF_RECORD_BPF_EVENT:
		return apply_bpf_event(store, rec);
	case PERF_RECORD_TEXT_POKE:
		return apply_text_poke(store, rec);
	case PERF_RECORD_CGROUP:
		return apply_cgroup(store, rec);
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		return apply_hw_id(store, rec);
	default:
		return apply_kernel_map(store, rec);
	}
}

void sideband_objects__written(struct sideband_store *store)
{
	struct sideband_key key = { SIDEBAND_KSYMBOL_GONE, { 0, }, };
	struct sideband_object *obj = store__lower_bound(store, &key);
	struct rb_node *next;

	while (obj && obj->key.kind == SIDEBAND_KSYMBOL_GONE) {
		next = rb_next(&obj->rb);
		if (obj->rec->seq <= store->written)
			sideband_objects__end(store, obj);
		obj = rb_entry_safe(next, struct sideband_object, rb);
	}
}

void sideband_objects__exit(struct sideband_store *store)
{
	struct rb_node *node;

	while ((node = rb_first(&store->objects)))
		sideband_objects__end(store, rb_entry(node, struct sideband_object, rb));
}

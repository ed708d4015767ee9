// SPDX-License-Identifier: GPL-2.0
/*
 * Checks perf script's output for the samples of a load against the load's truth table.
 *
 * It checks how perf resolves a sample: the kernel's pid, tid, time and address are
 * trusted. They and the table give the object that was mapped there and the name of the
 * thread; the object's file gives the function. If the sample was taken between the two
 * clock readings around a change, the table allows both results: both are right, and the
 * sample is counted as ambiguous.
 */
#include <elf.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "truth.h"

static const char usage[] =
	"usage: check_samples [OPTION]... TRUTH < samples\n"
	"\n"
	"samples: perf script --ns -G -F comm,pid,tid,cpu,time,ip,sym,dso\n"
	"\n"
	"  -r PERCENT  of the user samples must be right, at least\n"
	"  -w PERCENT  of the user samples may be wrong, at most\n"
	"  -c PERCENT  of all samples must have the right comm, at least\n"
	"  -n NUMBER   user samples must have been checked, at least\n"
	"  -e NUMBER   explain this many samples that are not right\n"
	"\n"
	"Prints 'what value' lines. Exit status 1 if a limit is exceeded, if a sample is\n"
	"there twice or out of order, or if too much of the truth is missing; 2 if the\n"
	"check was not possible.\n";

#define KERNEL		(1ULL << 63)
#define VDSO_SIZE	0x4000
#define CANDIDATES	4

static struct {
	double right, wrong, comm;
	unsigned long number, explain;
} limit = { .wrong = 100 };

static struct {
	unsigned long samples, user, right, unknown, wrong, edge, dso_only, untold;
	unsigned long kernel, kernel_unknown, comm_right, comm_wrong, others;
	unsigned long disorder, twice;
} count;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st))
		fail(path);
	*size = st.st_size;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		fail(path);
	close(fd);
	return map;
}

/* ---- objects: the symbol at an address of a file */

struct symbol {
	uint64_t start, end;
	const char *name;
};

static struct object {
	const char *path;
	bool vdso;
	bool stripped;
	struct symbol *symbol;
	size_t symbols;
	uint64_t text_start, text_end;
} object[TRUTH_OBJECTS];

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_function(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static void read_symbols(struct object *o, const char *file, const Elf64_Shdr *section,
			 const Elf64_Shdr *names)
{
	const Elf64_Sym *symbol = (const void *)(file + section->sh_offset);
	size_t number = section->sh_size / sizeof(*symbol), i;

	o->symbol = calloc(number, sizeof(*o->symbol));
	for (i = 0; i < number; i++) {
		if (!is_function(&symbol[i]))
			continue;
		o->symbol[o->symbols++] = (struct symbol){
			symbol[i].st_value,
			symbol[i].st_value + symbol[i].st_size,
			file + names->sh_offset + symbol[i].st_name,
		};
	}
	qsort(o->symbol, o->symbols, sizeof(*o->symbol), compare_symbols);
}

static void read_object(struct object *o)
{
	size_t size;
	const char *file = map_file(o->path, &size);
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Phdr *segment = (const void *)(file + header->e_phoff);
	const Elf64_Shdr *section = (const void *)(file + header->e_shoff), *best = NULL;
	int i;

	for (i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD && segment[i].p_flags & PF_X) {
			o->text_start = segment[i].p_vaddr;
			o->text_end = segment[i].p_vaddr + segment[i].p_memsz;
		}
	}
	for (i = 0; i < header->e_shnum; i++) {
		if (section[i].sh_type == SHT_SYMTAB ||
		    (!best && section[i].sh_type == SHT_DYNSYM))
			best = &section[i];
	}
	o->stripped = !best || best->sh_type != SHT_SYMTAB;
	if (best)
		read_symbols(o, file, best, &section[best->sh_link]);
}

static void read_objects(const struct truth *truth)
{
	uint32_t i;

	for (i = 0; i < truth->objects; i++) {
		object[i].path = truth->path[i];
		object[i].vdso = !strcmp(truth->path[i], "[vdso]");
		if (!object[i].vdso) {
			read_object(&object[i]);
		} else {
			object[i].text_end = VDSO_SIZE;
			object[i].stripped = true;
		}
	}
}

/* Index of the last symbol that begins at or before the address, or -1. */
static long nearest_symbol(const struct object *o, uint64_t address)
{
	long low = -1, high = o->symbols;

	while (high - low > 1) {
		long middle = (low + high) / 2;

		if (o->symbol[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

enum verdict { WRONG, UNKNOWN, DSO_ONLY, RIGHT };

/*
 * A function may have several names, and code may follow a label inside a function: any
 * name that the file has there is right. For a stripped library perf may know more names,
 * from its debug file: then, and where the file has no symbol, only the object's name is
 * checked.
 */
static enum verdict check_symbol(const struct object *o, uint64_t address, const char *name)
{
	long nearest = nearest_symbol(o, address), i;
	bool unknown = !strcmp(name, "[unknown]"), any = false;

	for (i = nearest; i >= 0 && nearest - i < 64; i--) {
		const struct symbol *s = &o->symbol[i];

		if (address >= s->end && s->start != o->symbol[nearest].start)
			continue;
		any |= address < s->end;
		if (!strcmp(s->name, name))
			return RIGHT;
	}
	if (!any && !o->vdso)
		return DSO_ONLY;
	if (unknown)
		return UNKNOWN;
	return o->stripped ? DSO_ONLY : WRONG;
}

/* ---- processes: their mappings over time */

struct process {
	const struct truth_entry *fork;	/* the first of its entries, the fork itself */
	size_t entries;
	const struct process *parent;
	uint64_t begun;		/* began at this time or later */
	uint64_t gone;		/* ended at this time or earlier, or 0 */
};

static struct truth_entry *entry;
static size_t entries;
static struct process *process;
static size_t processes;

/* The order within an id. If an id is reused, the new process begins after the old one's end. */
static uint64_t order(const struct truth_entry *e)
{
	return e->after > e->before ? e->after : e->before;
}

static int compare_entries(const void *a, const void *b)
{
	const struct truth_entry *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return order(x) < order(y) ? -1 : order(x) > order(y);
}

/* The last process of that id that may have begun by @time, if it isn't gone. */
static struct process *find_process(uint32_t pid, uint64_t time)
{
	size_t low = 0, high = processes;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct process *p = &process[middle];

		if (p->fork->pid < pid || (p->fork->pid == pid && p->begun <= time))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || process[low - 1].fork->pid != pid)
		return NULL;
	return process[low - 1].gone && process[low - 1].gone < time ? NULL : &process[low - 1];
}

/* A thread's entries are among those of its process: find that. */
static const struct process *process_of_thread(uint32_t tid, uint64_t time)
{
	const struct process *p = find_process(tid, time);
	size_t i;

	if (p)
		return p;
	for (i = 0; i < entries; i++) {
		if (entry[i].kind == TRUTH_THREAD && entry[i].tid == tid &&
		    entry[i].before <= time)
			p = find_process(entry[i].pid, time);
	}
	return p;
}

static void sort_table(const struct truth *truth)
{
	uint32_t i;

	if (truth->entries > truth->capacity) {
		fprintf(stderr, "the table has no room for %u entries\n",
			truth->entries - truth->capacity);
		exit(2);
	}
	entry = malloc(truth->entries * sizeof(*entry));
	for (i = 0; i < truth->entries; i++) {
		if (truth->entry[i].kind != TRUTH_NONE)
			entry[entries++] = truth->entry[i];
	}
}

/*
 * Earlier processes of this id already have an end. The next one may have read the clock
 * for its fork before this end.
 */
static void end_process(const struct truth_entry *gone)
{
	size_t i;

	for (i = 0; i < processes; i++) {
		struct process *p = &process[i];

		if (p->fork->pid != gone->tid)
			continue;
		if (p->fork->after > gone->before)
			p->begun = p->begun > gone->before ? p->begun : gone->before;
		else if (!p->gone)
			p->gone = gone->before;
	}
}

static void read_truth(const char *path)
{
	size_t size, i;
	const struct truth *truth = map_file(path, &size);

	if (size < sizeof(*truth) || truth->magic != TRUTH_MAGIC) {
		fprintf(stderr, "%s is no truth table\n", path);
		exit(2);
	}
	read_objects(truth);
	sort_table(truth);
	qsort(entry, entries, sizeof(*entry), compare_entries);
	process = calloc(entries + 1, sizeof(*process));
	for (i = 0; i < entries; i++) {
		if (entry[i].kind == TRUTH_FORK) {
			process[processes].fork = &entry[i];
			process[processes++].begun = entry[i].before;
		}
		if (processes)
			process[processes - 1].entries++;
	}
	for (i = 0; i < entries; i++) {
		if (entry[i].kind == TRUTH_GONE)
			end_process(&entry[i]);
	}
	for (i = 0; i < processes; i++) {
		const struct truth_entry *e = process[i].fork;

		process[i].parent = e->parent ? process_of_thread(e->parent, e->before) : NULL;
	}
}

struct candidates {
	const struct object *object[CANDIDATES];
	uint64_t address[CANDIDATES];
	int number;
};

static void add_candidate(struct candidates *c, const struct truth_entry *map, uint64_t ip)
{
	const struct object *o = &object[map->object];
	uint64_t address = ip - map->base;
	int i;

	if (address < o->text_start || address >= o->text_end || c->number == CANDIDATES)
		return;
	for (i = 0; i < c->number; i++) {
		if (c->object[i] == o && c->address[i] == address)
			return;
	}
	c->object[c->number] = o;
	c->address[c->number++] = address;
}

/* The time at which the image that began with the entry @from was replaced by the next. */
static uint64_t end_of_image(const struct truth_entry *from, const struct truth_entry *end)
{
	const struct truth_entry *e;

	for (e = from + 1; e < end; e++) {
		if (e->kind == TRUTH_EXEC)
			return e + 1 < end ? e[1].before : UINT64_MAX;
	}
	return UINT64_MAX;
}

static uint64_t end_of_map(const struct truth_entry *map, const struct truth_entry *end,
			   uint64_t end_of_image)
{
	const struct truth_entry *e;

	for (e = map + 1; e < end && e->kind != TRUTH_EXEC; e++) {
		if (e->kind == TRUTH_UNMAP && e->base == map->base)
			return e->after;
	}
	return end_of_image;
}

static void find_candidates(const struct process *p, uint64_t ip, uint64_t time,
			    struct candidates *c);

/* Before its first execve() a process has its parent's mappings, without those it unmapped. */
static void find_inherited(const struct process *p, uint64_t ip, uint64_t time,
			   struct candidates *c)
{
	const struct truth_entry *end = p->fork + p->entries, *e;
	struct candidates parents = { .number = 0 };
	int i;

	if (!p->parent || time > end_of_image(p->fork, end))
		return;
	find_candidates(p->parent, ip, p->fork->before, &parents);
	for (i = 0; i < parents.number; i++) {
		uint64_t base = ip - parents.address[i];
		struct truth_entry map = { .object = parents.object[i] - object, .base = base };

		for (e = p->fork + 1; e < end && e->kind != TRUTH_EXEC; e++) {
			if (e->kind == TRUTH_UNMAP && e->base == base && e->after < time)
				break;
		}
		if (e == end || e->kind == TRUTH_EXEC)
			add_candidate(c, &map, ip);
	}
}

/* Objects that may be at an address at a time */
static void find_candidates(const struct process *p, uint64_t ip, uint64_t time,
			    struct candidates *c)
{
	const struct truth_entry *end = p->fork + p->entries, *image = p->fork, *e;
	uint64_t until = end_of_image(image, end);

	find_inherited(p, ip, time, c);
	for (e = p->fork + 1; e < end; e++) {
		uint64_t from = e->kind == TRUTH_IMAGE ? image->before : e->before;

		if (e->kind == TRUTH_EXEC) {
			image = e;
			until = end_of_image(e, end);
		} else if ((e->kind == TRUTH_IMAGE || e->kind == TRUTH_MAP) && from <= time &&
			   time <= end_of_map(e, end, until)) {
			add_candidate(c, e, ip);
		}
	}
}

/* ---- names of threads */

struct names {
	char now[16], before[16];
	uint64_t until;		/* the previous name is right, too, until then */
};

static void rename_thread(struct names *names, const char *name, uint64_t until)
{
	memcpy(names->before, names->now, sizeof(names->before));
	memset(names->now, 0, sizeof(names->now));
	memcpy(names->now, name, strnlen(name, sizeof(names->now) - 1));
	names->until = until;
}

static bool find_names(const struct process *p, uint32_t tid, uint64_t time, struct names *names)
{
	const struct truth_entry *end = p->fork + p->entries, *e;
	bool known = false;

	if (tid == p->fork->pid && p->parent)
		known = find_names(p->parent, p->fork->parent, p->fork->before, names);
	for (e = p->fork; e < end; e++) {
		/* A thread may have begun after @time. */
		if (e->before > time)
			continue;
		if (e->kind == TRUTH_THREAD && e->tid == tid)
			known = find_names(p, e->parent, e->before, names);
		else if (e->kind == TRUTH_COMM && e->tid == tid)
			rename_thread(names, e->comm, e->after);
		else if (e->kind == TRUTH_EXEC && tid == e->pid && e + 1 < end) {
			const char *path = object[e[1].object].path;

			rename_thread(names, strrchr(path, '/') + 1, e[1].before);
			known = true;
		}
	}
	return known;
}

/* ---- samples */

struct sample {
	char comm[64];
	uint32_t pid, tid, cpu;
	uint64_t time, ip;
	const char *symbol, *dso;
};

static struct seen {
	uint64_t time, ip;
	uint32_t tid, cpu;
} *seen;
static size_t room;
static double span;

/*
 * Fills in @sample from a line of perf script:
 * "  comm  12/13 [001] 1234.567890123:   7f0123 function (/path)". A comm and a
 * function's name may have blanks.
 */
static bool parse_line(char *line, struct sample *sample)
{
	char *field = line, *paren, *symbol;
	unsigned long s, ns;
	int end = 0;

	for (field = strchr(line, '/'); field; field = strchr(field + 1, '/')) {
		char *digits = field;

		while (digits > line && strchr("-0123456789", digits[-1]))
			digits--;
		if (sscanf(digits, "%u/%u [%u] %lu.%9lu: %lx %n", &sample->pid, &sample->tid,
			   &sample->cpu, &s, &ns, &sample->ip, &end) == 6 && end) {
			*digits = '\0';
			field = digits;
			symbol = digits + end;
			break;
		}
	}
	paren = field ? strrchr(symbol, '(') : NULL;
	if (!paren || paren == symbol)
		return false;
	sample->time = s * 1000000000ULL + ns;
	paren[-1] = '\0';
	sample->symbol = symbol;
	sample->dso = paren + 1;
	paren[strcspn(paren, ")\n")] = '\0';
	while (*line == ' ')
		line++;
	while (field > line && field[-1] == ' ')
		*--field = '\0';
	snprintf(sample->comm, sizeof(sample->comm), "%s", line);
	return true;
}

static void explain(const struct sample *s, const char *what, const struct candidates *c)
{
	int i;

	if (!limit.explain)
		return;
	limit.explain--;
	fprintf(stderr, "%s: %s %u/%u %lu.%09lu %lx %s (%s)", what, s->comm, s->pid, s->tid,
		s->time / 1000000000, s->time % 1000000000, s->ip, s->symbol, s->dso);
	for (i = 0; c && i < c->number; i++) {
		const struct object *o = c->object[i];
		long nearest = nearest_symbol(o, c->address[i]);

		fprintf(stderr, "; truth: %s (%s)", nearest < 0 ? "?" : o->symbol[nearest].name,
			o->path);
	}
	fputc('\n', stderr);
}

static void check_comm(const struct process *p, const struct sample *s)
{
	struct names names = { .until = 0 };

	if (!find_names(p, s->tid, s->time, &names))
		return;
	if (!strcmp(s->comm, names.now) ||
	    (s->time <= names.until && !strcmp(s->comm, names.before))) {
		count.comm_right++;
		return;
	}
	count.comm_wrong++;
	explain(s, "comm", NULL);
	if (limit.explain)
		fprintf(stderr, "  truth: %s, until %lu.%09lu %s\n", names.now,
			names.until / 1000000000, names.until % 1000000000, names.before);
}

static void check_user(const struct process *p, const struct sample *s)
{
	struct candidates c = { .number = 0 };
	enum verdict verdict = WRONG;
	bool unknown = !strcmp(s->symbol, "[unknown]");
	int i;

	find_candidates(p, s->ip, s->time, &c);
	if (!c.number) {
		count.untold++;
		explain(s, "untold", NULL);
		return;
	}
	count.user++;
	count.edge += c.number > 1;
	for (i = 0; i < c.number; i++) {
		enum verdict v = UNKNOWN;

		if (!strcmp(s->dso, c.object[i]->path))
			v = check_symbol(c.object[i], c.address[i], s->symbol);
		else if (!unknown)
			v = WRONG;
		if (v > verdict)
			verdict = v;
	}
	count.right += verdict >= DSO_ONLY;
	count.dso_only += verdict == DSO_ONLY;
	count.unknown += verdict == UNKNOWN;
	count.wrong += verdict == WRONG;
	if (verdict < DSO_ONLY)
		explain(s, verdict == WRONG ? "wrong" : "unknown", &c);
}

static void remember(const struct sample *s)
{
	if (count.samples && s->time < seen[count.samples - 1].time)
		count.disorder++;
	if (count.samples == room) {
		room = room ? 2 * room : 1 << 16;
		seen = realloc(seen, room * sizeof(*seen));
		if (!seen)
			fail("realloc");
	}
	seen[count.samples++] = (struct seen){ s->time, s->ip, s->tid, s->cpu };
}

static int compare_seen(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct seen));
}

static void count_twice(void)
{
	size_t i;

	if (count.samples)
		span = (seen[count.samples - 1].time - seen[0].time) / 1e9;
	qsort(seen, count.samples, sizeof(*seen), compare_seen);
	for (i = 1; i < count.samples; i++) {
		if (compare_seen(&seen[i - 1], &seen[i]))
			continue;
		count.twice++;
		if (limit.explain) {
			limit.explain--;
			fprintf(stderr, "twice: %u [%u] %lu.%09lu %lx\n", seen[i].tid, seen[i].cpu,
				seen[i].time / 1000000000, seen[i].time % 1000000000, seen[i].ip);
		}
	}
}

static void check_line(char *line)
{
	const struct process *p;
	struct sample s;

	if (!parse_line(line, &s)) {
		fprintf(stderr, "not a sample: %s\n", line);
		exit(2);
	}
	remember(&s);
	p = find_process(s.pid, s.time);
	if (!p) {
		count.others++;
		return;
	}
	check_comm(p, &s);
	if (s.ip & KERNEL) {
		count.kernel++;
		count.kernel_unknown += !strcmp(s.symbol, "[unknown]");
	} else {
		check_user(p, &s);
	}
}

/* ---- the result */

static double percent(unsigned long part, unsigned long whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void print(void)
{
	printf("samples %lu\n", count.samples);
	printf("of_others %lu\n", count.others);
	printf("user %lu\n", count.user);
	printf("right %.3f\n", percent(count.right, count.user));
	printf("unknown %.3f\n", percent(count.unknown, count.user));
	printf("wrong %.3f\n", percent(count.wrong, count.user));
	printf("two_possible %.3f\n", percent(count.edge, count.user));
	printf("object_only %.3f\n", percent(count.dso_only, count.user));
	printf("untold %lu\n", count.untold);
	printf("comm_right %.3f\n", percent(count.comm_right, count.comm_right + count.comm_wrong));
	printf("comm_wrong %lu\n", count.comm_wrong);
	printf("kernel %lu\n", count.kernel);
	printf("kernel_unknown %lu\n", count.kernel_unknown);
	printf("disorder %lu\n", count.disorder);
	printf("twice %lu\n", count.twice);
	printf("span %.3f\n", span);
}

/* In numbers, not in per cent: of a million, 0.0 % would allow 499 wrong ones. */
static bool within_limits(void)
{
	return count.right * 100.0 >= limit.right * count.user &&
	       count.wrong * 100.0 <= limit.wrong * count.user &&
	       count.comm_right * 100.0 >= limit.comm * (count.comm_right + count.comm_wrong) &&
	       count.user >= limit.number && !count.disorder && !count.twice &&
	       /* Few samples may be unknown to the checker itself. */
	       count.untold <= count.user / 1000;
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t size = 0;
	int c;

	while ((c = getopt(argc, argv, "r:w:c:n:e:")) != -1) {
		switch (c) {
		case 'r': limit.right = atof(optarg); break;
		case 'w': limit.wrong = atof(optarg); break;
		case 'c': limit.comm = atof(optarg); break;
		case 'n': limit.number = atol(optarg); break;
		case 'e': limit.explain = atol(optarg); break;
		default: optind = argc;
		}
	}
	if (optind != argc - 1) {
		fputs(usage, stderr);
		return 2;
	}
	read_truth(argv[optind]);
	while (getline(&line, &size, stdin) > 0) {
		if (line[0] != '\n')
			check_line(line);
	}
	count_twice();
	print();
	return !within_limits();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Line transfers for each record, by ring and number of CPUs. A line for each: see
 * columns() below; separated by tabs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rings.h"
#include "world.h"

static const struct {
	const char		*name;
	const struct ring	*ring;
} rings[] = {
	{ "today", &shared_ring },
	{ "leases", &lease_ring },
	{ "leases-add", &lease_add_ring },
	{ "word", &word_ring },
	{ "stretches", &stretch_ring },
	{ "percpu", &percpu_ring },
	{ "lock", &owner_ring },
	{ "private", &private_ring },
	{ "today-overwrite", &shared_overwrite_ring },
	{ "stretches-overwrite", &stretch_overwrite_ring },
};

static const char *const loads[LOADS] = { "all", "one", "low" };

static void columns(void)
{
	printf("ring\tload\tcpus\tsize\tstate\tdata\treader\tlocked\tfailed\taccesses\tcycles\trecords\tlost\n");
}

static void print(const char *name, const struct world_options *options,
		  const struct world_result *result)
{
	const struct machine_counts *writers = &result->writers;
	double n = result->written ?: 1;

	printf("%s\t%s\t%u\t%u\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%.1f\t%.0f\t%lu\t%lu\n", name,
	       loads[options->load], options->cpus, options->size,
	       world_transfers(writers, MACHINE_STATE) / n,
	       world_transfers(writers, MACHINE_DATA) / n,
	       (world_transfers(&result->reader, MACHINE_STATE) +
		world_transfers(&result->reader, MACHINE_DATA)) / n,
	       writers->locked / n, writers->failed / n, writers->accesses / n,
	       result->cycles / n, result->written, result->lost);
	if (result->error)
		printf("# %s: %s\n", name, result->error);
	fflush(stdout);
}

static bool is_in(const char *word, const char *list)
{
	size_t length = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, length) && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

static void usage(void)
{
	fprintf(stderr, "usage: lines [-r RING,...] [-l LOAD,...] [-c CPUS,...] [-s SIZE,...]\n"
			"             [-t TRANSFER] [-H HOLD] [-S SEED] [-i INTERRUPT] [-x HELD] [-n LIMIT]\n");
	exit(1);
}

static void count_all(struct world_options *options, const char *which, const char *at,
		      const char *cpus, const char *sizes)
{
	struct world_result result;

	for (unsigned int i = 0; i < sizeof(rings) / sizeof(*rings); i++) {
		options->ring = rings[i].ring;
		for (options->load = 0; options->load < LOADS; options->load++) {
			if (!is_in(rings[i].name, which) || !is_in(loads[options->load], at))
				continue;
			for (const char *size = sizes; size; size = strchr(size, ',')) {
				size += *size == ',';
				options->size = atoi(size);
				for (const char *cpu = cpus; cpu; cpu = strchr(cpu, ',')) {
					cpu += *cpu == ',';
					options->cpus = atoi(cpu);
					world_run(options, &result);
					print(rings[i].name, options, &result);
				}
			}
		}
	}
}

int main(int argc, char **argv)
{
	const char *which = "today,leases,leases-add,word,stretches,percpu,lock,private";
	const char *at = "all,one,low", *cpus = "1,2,4,8,16,64,256,1024", *sizes = "48,512";
	struct world_options options = {
		.bytes = 32 << 10, .seed = 1, .transfer = 100, .hold = 20, .limit = 8000000,
	};
	int c;

	while ((c = getopt(argc, argv, "r:l:c:s:t:H:S:i:x:n:b:")) != -1) {
		switch (c) {
		case 'r':
			which = optarg;
			break;
		case 'l':
			at = optarg;
			break;
		case 'c':
			cpus = optarg;
			break;
		case 's':
			sizes = optarg;
			break;
		case 't':
			options.transfer = atoi(optarg);
			break;
		case 'H':
			options.hold = atoi(optarg);
			break;
		case 'S':
			options.seed = atoi(optarg);
			break;
		case 'i':
			options.interrupt = atoi(optarg);
			break;
		case 'x':
			options.held = atol(optarg);
			break;
		case 'n':
			options.limit = atol(optarg);
			break;
		case 'b':
			options.bytes = atol(optarg);
			break;
		default:
			usage();
		}
	}
	columns();
	count_all(&options, which, at, cpus, sizes);
	return 0;
}

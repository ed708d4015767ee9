// SPDX-License-Identifier: GPL-2.0
/*
 * Traces this program's system calls by Intel PT until an AUX area of 64 KiB has been full
 * LAPS times, and prints how many interrupts the model of the trace hardware raised.
 *
 * usage: aux_laps overwrite|read LAPS
 *
 *   overwrite  nobody reads the area, and the driver counts what is written
 *   read       this program takes what is there after each 16th of the area
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aux_area.h"

#define AREA		(64UL << 10)
#define PT_CONFIG	0x2401	/* branches, TSC */

/* More than 16 bytes of trace each */
static void work(void)
{
	for (unsigned int i = 0; i < AREA / 16 / 16; i++)
		syscall(SYS_getppid);
}

static void take(struct perf_event_mmap_page *page)
{
	__atomic_store_n(&page->aux_tail, __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	unsigned long laps = argc == 3 ? strtoul(argv[2], NULL, 0) : 0, bytes, interrupts;
	struct aux_area area;
	bool overwrite;

	if (!laps || (strcmp(argv[1], "overwrite") && strcmp(argv[1], "read")))
		errx(125, "usage: aux_laps overwrite|read LAPS");

	overwrite = !strcmp(argv[1], "overwrite");
	aux_area_open(&area, "intel_pt", PT_CONFIG, 0, AREA, overwrite);
	bytes = model_stat("bytes");
	interrupts = model_stat("pmi_raised");
	aux_area_request(&area, PERF_EVENT_IOC_ENABLE, 0);
	while (model_stat("bytes") - bytes < laps * AREA) {
		work();
		if (!overwrite)
			take(area.page);
	}
	aux_area_request(&area, PERF_EVENT_IOC_DISABLE, 0);
	printf("%lu\n", model_stat("pmi_raised") - interrupts);

	return EXIT_SUCCESS;
}

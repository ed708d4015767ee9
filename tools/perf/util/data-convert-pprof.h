/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __DATA_CONVERT_PPROF_H
#define __DATA_CONVERT_PPROF_H 1

/* perf data convert --to-pprof: the samples of a recording as a profile for pprof */
#include <stdbool.h>

/**
 * struct pprof_opts - Options
 * @path:  of the file that is made
 * @force: it may replace a file; perf.data may be another user's
 * @times: as of perf script --time, or NULL: all
 * @cpus:  likewise --cpu. Threads: see symbol_conf.
 */
struct pprof_opts {
	const char	*path;
	bool		force;
	const char	*times;
	const char	*cpus;
};

/* Return 0, or -1 after a message: there is no file then. */
int pprof__convert(const char *input, const struct pprof_opts *opts);

#endif /* __DATA_CONVERT_PPROF_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* The test prepares its one CPU itself. */
#define CPUHP_BP_PREPARE_DYN	0

static inline int cpuhp_setup_state_nocalls(int state, const char *name,
					    int (*startup)(unsigned int cpu),
					    int (*teardown)(unsigned int cpu))
{
	(void)state;
	(void)name;
	(void)startup;
	(void)teardown;
	return 0;
}

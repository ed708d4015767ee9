/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_EVENTS_AUX_ACTION_TEST_H
#define PERF_EVENTS_AUX_ACTION_TEST_H

#include <stdbool.h>

void call_tests(void);
void level_tests(void);
void step_tests(bool pairs);
void storm_tests(void);

#endif

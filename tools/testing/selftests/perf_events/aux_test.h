/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common steps of the tests of AUX areas, for the kselftest harness.
 */
#ifndef _AUX_TEST_H
#define _AUX_TEST_H

#include <errno.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "aux_group.h"

static inline void open_and_enable(struct __test_metadata *_metadata,
				   struct aux_group *group, const struct aux_spec *spec)
{
	ASSERT_EQ(aux_group_open(group, spec), 0)
		TH_LOG("%s", strerror(errno));
	ASSERT_EQ(aux_group_enable(group), 0);
}

#endif /* _AUX_TEST_H */

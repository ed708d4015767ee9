/* SPDX-License-Identifier: GPL-2.0 */
#include "../../../../../../include/linux/perf_aux_action.h"

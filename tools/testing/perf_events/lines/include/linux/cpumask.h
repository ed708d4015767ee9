/* SPDX-License-Identifier: GPL-2.0 */
#define nr_cpu_ids	1024U

/* SPDX-License-Identifier: GPL-2.0 */
/* pr_warn() is the test's. */

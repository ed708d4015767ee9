/* SPDX-License-Identifier: GPL-2.0 */
/* Nothing starts by itself here. */
#define early_initcall(function)	extern int call_##function
#define early_param(name, function)	extern int call_##function

/* SPDX-License-Identifier: GPL-2.0 */
#define NOKPROBE_SYMBOL(symbol)		extern int nokprobe_##symbol

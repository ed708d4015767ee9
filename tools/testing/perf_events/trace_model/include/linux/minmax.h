/* SPDX-License-Identifier: GPL-2.0 */
static inline unsigned int min(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* SPDX-License-Identifier: GPL-2.0 */
#define min(a, b)								\
	({									\
		__auto_type min_a_ = (a);					\
		__auto_type min_b_ = (b);					\
										\
		min_a_ < min_b_ ? min_a_ : min_b_;				\
	})

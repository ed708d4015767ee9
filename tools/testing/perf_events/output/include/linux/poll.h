/* SPDX-License-Identifier: GPL-2.0 */
#define EPOLLIN		0x0001
#define EPOLLRDNORM	0x0040
#define POLL_IN		1

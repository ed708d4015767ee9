/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LINES_CODE_H
#define LINES_CODE_H

#include "ring.h"

void add_plain(unsigned long *counter);
void add_atomic(unsigned long *counter);
void add_exchange(unsigned long *counter);
void add_local(unsigned long *counter);
void clear(unsigned long *counter);
unsigned long look(unsigned long *counter);

extern const struct ring broken_ring;

#endif

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FUZZ_GENERATE_H
#define FUZZ_GENERATE_H

#include "program.h"
#include "random.h"

/* A new random program. */
void program_generate(struct random *random, struct program *program);

/* A few changes; @other lends calls. */
void program_mutate(struct random *random, struct program *program,
		    const struct program *other);

#endif

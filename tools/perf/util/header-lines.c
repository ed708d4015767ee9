// SPDX-License-Identifier: GPL-2.0
/* Lines of the header; see header-lines.h */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/string.h>
#include "data.h"
#include "header.h"
#include "header-lines.h"
#include "session.h"

static int say_lines(char *header, int (*say)(void *arg, const char *line), void *arg)
{
	char *line, *rest = header;
	int err = 0;

	while (!err && (line = strsep(&rest, "\n"))) {
		if (strstarts(line, "# "))
			err = say(arg, line + strlen("# "));
	}
	return err;
}

int header_lines__each(struct perf_session *session, int (*say)(void *arg, const char *line),
		       void *arg)
{
	char *header = NULL;
	size_t size;
	FILE *out;
	int err;

	if (perf_data__is_pipe(session->data))
		return 0;
	out = open_memstream(&header, &size);
	if (!out)
		return -ENOMEM;
	perf_header__fprintf_info(session, out, false);
	err = fclose(out) ? -ENOMEM : say_lines(header, say, arg);
	free(header);
	return err;
}

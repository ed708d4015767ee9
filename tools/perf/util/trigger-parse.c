// SPDX-License-Identifier: GPL-2.0
/* Triggers of perf record -M, as the user writes them; see trigger-parse.h */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "duration.h"
#include "trigger-parse.h"

/* What is parsed, and where to say what is wrong with it */
struct parser {
	struct dump_trigger	*trigger;
	char			*error;
	size_t			size;
};

static __printf(2, 3) int complain(struct parser *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(p->error, p->size, fmt, args);
	va_end(args);
	return -EINVAL;
}

static int parse_time(struct parser *p, const char *term, const char *value, u64 *ns)
{
	const char *end = "";

	if (*ns)
		return complain(p, "%s= is there twice", term);
	switch (duration__parse(value, &end, ns)) {
	case 0:
		return *end ? complain(p, "'%s' follows the time of %s=", end, term) : 0;
	case -ERANGE:
		return complain(p, "'%s' of %s= is out of range", value, term);
	default:
		return complain(p, "'%s' of %s= is not a time: a whole number with "
				DURATION_UNITS, value, term);
	}
}

static int parse_count(struct parser *p, const char *value)
{
	char *end = NULL;

	if (p->trigger->count)
		return complain(p, "count= is there twice");
	errno = 0;
	if (isdigit(*value))
		p->trigger->count = strtoull(value, &end, 10);
	if (!end || *end || errno || !p->trigger->count)
		return complain(p, "'%s' of count= is not a number above 0", value);
	return 0;
}

static int parse_term(struct parser *p, char *term)
{
	char *value = strchr(term, '=');

	if (value)
		*value++ = '\0';
	if (value && !strcmp(term, "longer"))
		return parse_time(p, term, value, &p->trigger->longer);
	if (value && !strcmp(term, "within"))
		return parse_time(p, term, value, &p->trigger->within);
	if (value && !strcmp(term, "count"))
		return parse_count(p, value);
	return complain(p, "there is no term '%s': they are longer=TIME, count=N and within=TIME",
			term);
}

static int parse_terms(struct parser *p, char *terms)
{
	char *term;
	int err = 0;

	while (!err && (term = strsep(&terms, ",")))
		err = parse_term(p, term);
	return err;
}

/* The comma behind the events. Those between slashes belong to an event. */
static char *find_terms(char *str)
{
	bool inside = false;

	for (; *str; str++) {
		if (*str == '/')
			inside = !inside;
		else if (*str == ',' && !inside)
			return str;
	}
	return NULL;
}

static int check_pair(struct parser *p, const char *exit)
{
	struct dump_trigger *trigger = p->trigger;

	if (trigger->count || trigger->within)
		return complain(p, "count= and within= are for one event, not for a pair");
	if (!trigger->longer)
		return complain(p, "a pair of events needs longer=TIME");
	if (!strcmp(trigger->event, exit))
		return complain(p, "entry and exit are the same event, '%s'", exit);
	return 0;
}

static int check_single(struct parser *p)
{
	struct dump_trigger *trigger = p->trigger;

	if (trigger->longer)
		return complain(p, "longer= needs a pair of events, ENTRY..EXIT");
	if (!trigger->count != !trigger->within)
		return complain(p, "count=N and within=TIME need each other");
	if (!trigger->count)
		trigger->count = 1;
	return 0;
}

static int parse_condition(struct parser *p, char *str)
{
	struct dump_trigger *trigger = p->trigger;
	char *terms = find_terms(str), *exit;
	int err = 0;

	if (terms) {
		*terms++ = '\0';
		err = parse_terms(p, terms);
	}
	exit = strstr(str, "..");
	if (exit) {
		*exit = '\0';
		exit += strlen("..");
	}
	if (!*str || (exit && !*exit))
		return complain(p, "an event is missing: EVENT or ENTRY..EXIT");
	trigger->event = strdup(str);
	trigger->exit = exit ? strdup(exit) : NULL;
	if (!trigger->event || (exit && !trigger->exit))
		return -ENOMEM;
	if (!err)
		err = exit ? check_pair(p, exit) : check_single(p);
	return err;
}

static int parse_name(struct parser *p, const char *str, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (!isalnum(str[i]) && !strchr("-_", str[i]))
			break;
	}
	if (!len || i < len || len > DUMP_TRIGGER_MAX_NAME)
		return complain(p, "'%.*s' is not a name: up to %d letters, digits, '-' and '_'",
				(int)len, str, DUMP_TRIGGER_MAX_NAME);
	p->trigger->name = strndup(str, len);
	return p->trigger->name ? 0 : -ENOMEM;
}

static int parse(struct parser *p, const char *str)
{
	size_t len = strcspn(str, ":");
	char *condition;
	int err;

	err = parse_name(p, str, len);
	if (err)
		return err;
	if (!str[len])
		return complain(p, "a condition is missing: %s:EVENT or %s:ENTRY..EXIT,longer=TIME",
				p->trigger->name, p->trigger->name);
	p->trigger->condition = strdup(str + len + 1);
	if (!p->trigger->condition)
		return -ENOMEM;

	if (!strcmp(p->trigger->condition, "socket"))
		return strcmp(p->trigger->name, "status") ? 0 :
		       complain(p, "'status' asks for something else on the socket: take another name");
	condition = strdup(p->trigger->condition);
	err = condition ? parse_condition(p, condition) : -ENOMEM;
	free(condition);
	return err;
}

int dump_trigger__parse(struct dump_trigger *trigger, const char *str, char *error,
			size_t size)
{
	struct parser parser = { .trigger = trigger, .error = error, .size = size };
	int err;

	memset(trigger, 0, sizeof(*trigger));
	err = parse(&parser, str);
	if (err == -ENOMEM)
		snprintf(error, size, "%s", strerror(ENOMEM));
	if (err)
		dump_trigger__exit(trigger);
	return err;
}

void dump_trigger__exit(struct dump_trigger *trigger)
{
	zfree(&trigger->name);
	zfree(&trigger->condition);
	zfree(&trigger->event);
	zfree(&trigger->exit);
}

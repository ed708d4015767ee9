/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_SOCKET_H
#define __PERF_TRIGGER_SOCKET_H 1

/*
 * A socket on which programs without privilege fire a trigger of perf record -M by its
 * name, and do nothing else: --trigger-socket PATH[,mode=OCTAL][,group=GROUP]
 *
 * A program connects and writes a line (trigger-line.h). It gets "ack NAME", with more
 * lines if it wants to know more, or "nack REASON", and the connection is closed. The
 * rights of the file say who may connect. They are set before the socket listens.
 *
 * perf never waits for a program: nothing blocks, a program has TRIGGER_SOCKET_TIME for its
 * line, and if TRIGGER_SOCKET_CLIENTS are connected, the oldest makes room for the next. A
 * user has a bucket of requests (uid-rate.h). Bad requests are answered, and logged within
 * the same rate.
 *
 * Not for several threads.
 */
#include <linux/time64.h>
#include <linux/types.h>
#include <sys/socket.h>
#include <sys/types.h>

struct trigger_socket;
/* Of SO_PEERCRED: the process, user and group that have connected */
struct ucred;

#define TRIGGER_SOCKET_CLIENTS	16
#define TRIGGER_SOCKET_TIME	NSEC_PER_SEC
/* Bytes of a line, with the newline */
#define TRIGGER_SOCKET_LINE	128

/**
 * struct trigger_socket_opts - What the user wants
 * @path: of the file, NULL: no socket
 * @mode: its rights
 * @gid:  its group, -1: the one that new files have
 */
struct trigger_socket_opts {
	char	*path;
	mode_t	mode;
	gid_t	gid;
};

/**
 * trigger_socket_opts__parse - Parse PATH[,mode=OCTAL][,group=GROUP]
 *
 * Without mode, only the user of perf may connect, and the group if one is given. Call
 * trigger_socket_opts__exit() only after a success. Return 0, or -errno after a message.
 */
int trigger_socket_opts__parse(struct trigger_socket_opts *opts, const char *str);
void trigger_socket_opts__exit(struct trigger_socket_opts *opts);

/**
 * struct trigger_socket_request - A line
 * @line: without the newline
 * @peer: who has written it
 * @more: set it to lines that follow "ack LINE"; is freed
 * @fd:	  the connection. Set it to -1 to answer later, by trigger_socket__answer().
 */
struct trigger_socket_request {
	const char		*line;
	const struct ucred	*peer;
	char			*more;
	int			fd;
};

/* Return NULL, or why not */
typedef const char *(*trigger_socket_asked_t)(void *priv,
					      struct trigger_socket_request *request);

/**
 * trigger_socket__new - Make the file, and listen
 *
 * The file of a perf that was killed is replaced. Return NULL after a message.
 */
struct trigger_socket *trigger_socket__new(const struct trigger_socket_opts *opts,
					   trigger_socket_asked_t asked, void *priv);
/* Remove the file, if it is still this one */
void trigger_socket__delete(struct trigger_socket *sock);

/*
 * Answer those that have a line, and close those that take too long. Doesn't block. Call it
 * at intervals: if perf were woken up for each connection, programs could keep it busy.
 */
void trigger_socket__serve(struct trigger_socket *sock, u64 now);

/*
 * Answer "@tag @text" and @more lines (NULL: none) on a connection, and close it. Doesn't
 * block. From any thread.
 */
void trigger_socket__answer(int fd, const char *tag, const char *text, const char *more);

/*
 * How many requests were granted, were refused, and were too many of one user. All but the
 * first get nack.
 */
struct trigger_socket_stats {
	u64	acked;
	u64	nacked;
	u64	too_many;
};

struct trigger_socket_stats trigger_socket__stats(const struct trigger_socket *sock);

#endif /* __PERF_TRIGGER_SOCKET_H */

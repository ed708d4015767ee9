// SPDX-License-Identifier: GPL-2.0
/* A socket on which programs fire a trigger of perf record -M; see trigger-socket.h */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>
#include "debug.h"
#include "trigger-socket.h"
#include "trigger-socket-file.h"
#include "uid-rate.h"

/* @fd: -1: it isn't ours any more. @deadline: for its line; @used bytes of the line are here. */
struct client {
	int		fd;
	struct ucred	peer;
	u64		deadline;
	size_t		used;
	char		line[TRIGGER_SOCKET_LINE];
};

/* @clients: @nr of them, the oldest first */
struct trigger_socket {
	struct trigger_socket_file	file;
	trigger_socket_asked_t		asked;
	void				*priv;
	struct client			clients[TRIGGER_SOCKET_CLIENTS];
	unsigned int			nr;
	struct uid_rate			rate;
	struct trigger_socket_stats	stats;
};

struct trigger_socket *trigger_socket__new(const struct trigger_socket_opts *opts,
					   trigger_socket_asked_t asked, void *priv)
{
	struct trigger_socket *sock = zalloc(sizeof(*sock));

	if (!sock) {
		pr_err("Not enough memory for --trigger-socket\n");
		return NULL;
	}
	sock->asked = asked;
	sock->priv = priv;
	if (trigger_socket_file__open(&sock->file, opts)) {
		trigger_socket__delete(sock);
		return NULL;
	}
	return sock;
}

void trigger_socket__delete(struct trigger_socket *sock)
{
	unsigned int i;

	if (!sock)
		return;
	for (i = 0; i < sock->nr; i++)
		close(sock->clients[i].fd);
	trigger_socket_file__close(&sock->file);
	free(sock);
}

struct trigger_socket_stats trigger_socket__stats(const struct trigger_socket *sock)
{
	return sock->stats;
}

/* The buffer of a new connection has room for it, else the program doesn't read it */
static void send_text(int fd, const char *text, size_t len)
{
	if (send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) < (ssize_t)len)
		pr_debug("Failed to answer a program on the trigger socket\n");
}

static void send_answer(int fd, const char *tag, const char *text, const char *more)
{
	char line[256];

	send_text(fd, line, scnprintf(line, sizeof(line), "%s %s\n", tag, text));
	if (more)
		send_text(fd, more, strlen(more));
}

/* If there were something to read, the program would get an error after the answer */
static void drain(int fd)
{
	char rest[4096];

	recv(fd, rest, sizeof(rest), MSG_DONTWAIT);
}

void trigger_socket__answer(int fd, const char *tag, const char *text, const char *more)
{
	send_answer(fd, tag, text, more);
	drain(fd);
	close(fd);
}

static void reply(const struct client *client, const char *tag, const char *text)
{
	send_answer(client->fd, tag, text, NULL);
}

/* What the program wrote goes to a terminal */
static void log_refusal(const struct client *client, const char *why)
{
	char text[sizeof(client->line) + 1];
	size_t i;

	for (i = 0; i < client->used; i++)
		text[i] = isprint((unsigned char)client->line[i]) ? client->line[i] : '?';
	text[i] = '\0';
	pr_warning("Trigger socket: refused '%s' of process %d, user %u: %s\n", text,
		   client->peer.pid, client->peer.uid, why);
}

static void refuse(struct trigger_socket *sock, struct client *client, u64 now, const char *why)
{
	sock->stats.nacked++;
	/* A storm of bad requests doesn't fill the log either */
	if (uid_rate__take(&sock->rate, client->peer.uid, now))
		log_refusal(client, why);
	reply(client, "nack", why);
}

/* Return NULL, or why not. If the answer comes later, somebody else has the connection. */
static const char *ask(struct trigger_socket *sock, struct client *client)
{
	struct trigger_socket_request request = {
		.line = client->line, .peer = &client->peer, .fd = client->fd,
	};
	const char *why = sock->asked(sock->priv, &request);

	if (!why && request.fd >= 0)
		send_answer(client->fd, "ack", client->line, request.more);
	free(request.more);
	client->fd = request.fd;
	return why;
}

static void serve_line(struct trigger_socket *sock, struct client *client, u64 now)
{
	const char *why;

	if (!uid_rate__take(&sock->rate, client->peer.uid, now)) {
		sock->stats.too_many++;
		reply(client, "nack", "too many requests of this user: try again later");
		return;
	}
	why = strlen(client->line) < client->used ? "the line isn't text" :
	      ask(sock, client);
	if (why) {
		sock->stats.nacked++;
		log_refusal(client, why);
		reply(client, "nack", why);
	} else {
		sock->stats.acked++;
	}
}

/* Is the line complete? It ends with a newline, or where the program ends writing. */
static bool has_line(struct client *client, bool end)
{
	char *newline = memchr(client->line, '\n', client->used);

	if (newline)
		client->used = newline - client->line;
	else if (!end || !client->used)
		return false;
	client->line[client->used] = '\0';
	return true;
}

/* Is the program served? */
static bool serve_client(struct trigger_socket *sock, struct client *client, u64 now)
{
	ssize_t n = recv(client->fd, client->line + client->used,
			 sizeof(client->line) - client->used, MSG_DONTWAIT);

	/* An error is like nothing to read: the deadline ends it */
	client->used += max_t(ssize_t, n, 0);
	if (has_line(client, !n))
		serve_line(sock, client, now);
	else if (!n)
		/* Nothing was asked for. Another perf does this to see if the socket is in use. */
		reply(client, "nack", "there is no line");
	else if (client->used == sizeof(client->line))
		refuse(sock, client, now, "the line is too long");
	else if (now >= client->deadline)
		refuse(sock, client, now, "it took too long to write a line");
	else
		return false;
	return true;
}

static void remove_client(struct trigger_socket *sock, unsigned int i)
{
	if (sock->clients[i].fd >= 0) {
		drain(sock->clients[i].fd);
		close(sock->clients[i].fd);
	}
	sock->nr--;
	memmove(&sock->clients[i], &sock->clients[i + 1],
		(sock->nr - i) * sizeof(sock->clients[0]));
}

static void add_client(struct trigger_socket *sock, int fd, u64 now)
{
	struct client client = { .fd = fd, .deadline = now + TRIGGER_SOCKET_TIME };
	socklen_t size = sizeof(client.peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client.peer, &size)) {
		pr_debug("Failed to accept a program on the trigger socket: %m\n");
		close(fd);
		return;
	}
	if (sock->nr == TRIGGER_SOCKET_CLIENTS) {
		if (!serve_client(sock, &sock->clients[0], now))
			refuse(sock, &sock->clients[0], now, "too many programs are connected");
		remove_client(sock, 0);
	}
	sock->clients[sock->nr++] = client;
}

static void serve_clients(struct trigger_socket *sock, u64 now)
{
	unsigned int i = 0;

	while (i < sock->nr) {
		if (serve_client(sock, &sock->clients[i], now))
			remove_client(sock, i);
		else
			i++;
	}
}

/* Accept no more than there is room for, so that a flood doesn't keep perf from its work */
void trigger_socket__serve(struct trigger_socket *sock, u64 now)
{
	unsigned int i;
	int fd;

	for (i = 0; i < TRIGGER_SOCKET_CLIENTS; i++) {
		fd = accept4(sock->file.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			if (errno != EAGAIN)
				pr_debug("Failed to accept a program on the trigger socket: %m\n");
			break;
		}
		add_client(sock, fd, now);
	}
	serve_clients(sock, now);
}

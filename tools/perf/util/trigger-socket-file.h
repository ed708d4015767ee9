/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_TRIGGER_SOCKET_FILE_H
#define __PERF_TRIGGER_SOCKET_FILE_H 1

/* The file of --trigger-socket, and its rights; see trigger-socket.h */
#include <sys/types.h>

struct trigger_socket_opts;

/**
 * struct trigger_socket_file - A socket that listens
 * @fd:   the socket
 * @path: of its file, NULL: there is none to be removed
 * @dev:  @dev and @ino identify the file
 */
struct trigger_socket_file {
	int	fd;
	char	*path;
	dev_t	dev;
	ino_t	ino;
};

/*
 * Make the file, and listen. Return 0, or -errno after a message. Call
 * trigger_socket_file__close() even after an error.
 */
int trigger_socket_file__open(struct trigger_socket_file *file,
			      const struct trigger_socket_opts *opts);
void trigger_socket_file__close(struct trigger_socket_file *file);

#endif /* __PERF_TRIGGER_SOCKET_FILE_H */

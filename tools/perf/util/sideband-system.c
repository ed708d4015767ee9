// SPDX-License-Identifier: GPL-2.0
/* Answer a sideband-store's questions about the system; see sideband-system.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <api/fs/fs.h>
#include "env.h"
#include "rwsem.h"
#include "sideband-system.h"
#ifdef HAVE_LIBBPF_SUPPORT
#include "bpf-event.h"
#include "bpf-utils.h"
#include <bpf/libbpf.h>
#endif

/* Linux accepts the tid of any thread. EPERM means that the thread exists. */
static bool task_is_gone(void *priv __maybe_unused, u32 tid)
{
	return kill(tid, 0) && errno == ESRCH;
}

#ifdef HAVE_FILE_HANDLE
/* The type of handle that name_to_handle_at() returns for a cgroup's directory */
#define HANDLE_OF_KERNFS	0xfe

/* Look it up by id, because its path is different in another cgroup namespace */
static bool cgroup_is_gone(void *priv, u64 id)
{
	const struct sideband_system *sys = priv;
	struct {
		struct file_handle	fh;
		u64			id;
	} handle = {
		.fh.handle_bytes = sizeof(id),
		.fh.handle_type  = HANDLE_OF_KERNFS,
		.id		 = id,
	};
	int fd;

	if (sys->cgroup_fd < 0)
		return false;
	fd = open_by_handle_at(sys->cgroup_fd, &handle.fh, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ESTALE;
	close(fd);
	return false;
}
#else
static bool cgroup_is_gone(void *priv __maybe_unused, u64 id __maybe_unused)
{
	return false;
}
#endif /* HAVE_FILE_HANDLE */

#ifdef HAVE_LIBBPF_SUPPORT
static bool has_btf(const struct perf_env *env, u32 btf_id)
{
	const struct bpf_prog_info_node *node;
	struct rb_node *n;

	for (n = rb_first(&env->bpf_progs.infos); n; n = rb_next(n)) {
		node = rb_entry(n, struct bpf_prog_info_node, rb_node);
		if (node->info_linear->info.btf_id == btf_id)
			return true;
	}
	return false;
}

/* Drop the BTF of a program, unless another program shares it */
static void forget_btf(struct perf_env *env, u32 btf_id)
{
	struct btf_node *node;

	if (has_btf(env, btf_id))
		return;
	node = __perf_env__find_btf(env, btf_id);
	if (!node)
		return;
	rb_erase(&node->rb_node, &env->bpf_progs.btfs);
	env->bpf_progs.btfs_cnt--;
	free(node);
}

/* perf's side-band thread adds them. It keeps no pointer to one while it waits for more. */
static void forget_bpf(void *priv, u32 id)
{
	struct perf_env *env = ((struct sideband_system *)priv)->env;
	struct bpf_prog_info_node *node = perf_env__find_bpf_prog_info(env, id);

	if (!node)
		return;
	down_write(&env->bpf_progs.lock);
	rb_erase(&node->rb_node, &env->bpf_progs.infos);
	env->bpf_progs.infos_cnt--;
	forget_btf(env, node->info_linear->info.btf_id);
	up_write(&env->bpf_progs.lock);
	free(node->info_linear);
	free(node);
}
#else
static void forget_bpf(void *priv __maybe_unused, u32 id __maybe_unused)
{
}
#endif /* HAVE_LIBBPF_SUPPORT */

const struct sideband_ops sideband_system_ops = {
	.task_is_gone	= task_is_gone,
	.cgroup_is_gone = cgroup_is_gone,
	.forget_bpf	= forget_bpf,
};

void sideband_system__init(struct sideband_system *sys, struct perf_env *env)
{
	char path[PATH_MAX];

	sys->env = env;
	sys->cgroup_fd = -1;
	if (!cgroupfs_find_mountpoint(path, sizeof(path), "perf_event"))
		sys->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void sideband_system__exit(struct sideband_system *sys)
{
	if (sys->cgroup_fd >= 0)
		close(sys->cgroup_fd);
}

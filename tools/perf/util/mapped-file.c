// SPDX-License-Identifier: GPL-2.0
/* Find the file that a process has mapped; see mapped-file.h */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <internal/lib.h>
#include "dso.h"
#include "mapped-file.h"
#include "symbol.h"

static bool is_same(const struct dso_id *id, unsigned int maj, unsigned int min, u64 ino)
{
	return id->maj == maj && id->min == min && id->ino == ino;
}

/* Does the kernel report @id for this process's mapping at @addr? */
static bool is_mapped_at(void *addr, const struct dso_id *id)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool same = false;
	size_t size = 0;
	char *line = NULL;

	while (maps && getline(&line, &size, maps) > 0) {
		unsigned int maj, min;
		u64 start, ino;

		if (sscanf(line, "%" SCNx64 "-%*x %*s %*x %x:%x %" SCNu64, &start, &maj, &min,
			   &ino) == 4 && start == (unsigned long)addr) {
			same = is_same(id, maj, min, ino);
			break;
		}
	}
	free(line);
	if (maps)
		fclose(maps);
	return same;
}

/*
 * The device from stat() can differ from the one in a record of a mapping: btrfs has
 * a device for each subvolume, and overlayfs maps files of other file systems. So map
 * the file, and compare @id with what the kernel reports for that mapping.
 */
static bool maps_as(int fd, const struct dso_id *id)
{
	void *addr = mmap(NULL, page_size, PROT_READ, MAP_PRIVATE, fd, 0);
	bool same;

	if (addr == MAP_FAILED)
		return false;
	same = is_mapped_at(addr, id);
	munmap(addr, page_size);
	return same;
}

static bool is_mapped_file(int fd, const struct dso_id *id)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (!id || !id->ino)
		return true;
	return is_same(id, major(st.st_dev), minor(st.st_dev), st.st_ino) || maps_as(fd, id);
}

/* Return -1 if there is no such file, or not with this @id. Must not block on a FIFO. */
static int open_if_mapped(const char *path, const struct dso_id *id)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && !is_mapped_file(fd, id)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_mapped(pid_t pid, const char *name, const struct dso_id *id)
{
	char path[PATH_MAX];
	int fd = -1;

	if (snprintf(path, sizeof(path), "/proc/%d/root%s", pid, name) < (int)sizeof(path))
		fd = open_if_mapped(path, id);
	return fd >= 0 ? fd : open_if_mapped(name, id);
}

bool mapped_file__read_build_id(pid_t pid, const char *name, const struct dso_id *id,
				struct build_id *bid)
{
	int fd = open_mapped(pid, name, id);
	char path[32];
	bool found;

	if (fd < 0)
		return false;
	/* Use the descriptor, as the name may belong to another file by now */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	found = filename__read_build_id(path, bid) > 0;
	close(fd);
	return found;
}

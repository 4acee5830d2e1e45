/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/spool.h"

#include "common/mem.h"
#include "common/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define BY_ID "by-id"
#define SWEPT "swept"
#define UUID_LENGTH 36

void spool_release(struct spool *s)
{
	free(s->dir);
	cleanup_closep(&s->fd);
	*s = (struct spool)SPOOL_INIT;
}

/* A random (version 4) UUID: no other job, and no other host of the same home, has it. */
static void make_uuid(char out[UUID_LENGTH + 1])
{
	static const unsigned char groups[] = { 4, 2, 2, 2, 6 };
	unsigned char b[16];
	size_t at = 0, n = 0;

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		abort(); /* 16 bytes can't be interrupted or short, says getrandom(2) */
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	for (size_t g = 0; g < sizeof(groups); g++) {
		if (g)
			out[at++] = '-';
		for (size_t i = 0; i < groups[g]; i++)
			at += (size_t)snprintf(out + at, 3, "%02x", b[n++]);
	}
}

static bool is_uuid(const char *name)
{
	return strlen(name) == UUID_LENGTH && strspn(name, "0123456789abcdef-") == UUID_LENGTH;
}

/* root and root/cluster, both private. make: those that are missing. */
static int open_cluster(const char *root, const char *cluster, bool make, struct error *err)
{
	cleanup_fd int fd = -1;
	int cluster_fd;

	if (!*cluster || strchr(cluster, '/') || !strcmp(cluster, ".") || !strcmp(cluster, ".."))
		return error_set(err, ERR_CONF, "cluster name \"%s\" can't be the name of a folder", cluster);
	if (make && path_mkdirs(root, 0700) < 0)
		return error_errno(err, "cannot make the spool folder %s", root);
	fd = path_open_private_dir(root, false, err);
	if (fd < 0)
		return error_wrap(err, "spool folder");
	cluster_fd = path_open_private_dirat(fd, cluster, make, err);
	if (cluster_fd < 0)
		error_wrap(err, "spool folder %s", root);
	return cluster_fd;
}

int spool_create(struct spool *s, const char *root, const char *cluster, struct error *err)
{
	cleanup_fd int fd = open_cluster(root, cluster, true, err);

	*s = (struct spool)SPOOL_INIT;
	if (fd < 0)
		return -1;
	make_uuid(s->uuid);
	if (mkdirat(fd, s->uuid, 0700) < 0)
		return error_errno(err, "cannot make a folder in the spool folder %s/%s", root, cluster);
	s->fd = path_open_private_dirat(fd, s->uuid, false, err);
	if (s->fd < 0) { /* a umask that denies it to its owner: no sweep could open it either */
		unlinkat(fd, s->uuid, AT_REMOVEDIR);
		return error_wrap(err, "spool folder %s/%s", root, cluster);
	}
	s->dir = xasprintf("%s/%s/%s", root, cluster, s->uuid);
	return 0;
}

int spool_open(struct spool *s, const char *dir, struct error *err)
{
	*s = (struct spool)SPOOL_INIT;
	if (*dir != '/' || !is_uuid(path_basename(dir)))
		return error_set(err, ERR_PROTOCOL, "%s: not a job's spool folder", dir);
	s->fd = path_open_private_dir(dir, false, err);
	if (s->fd < 0)
		return -1;
	s->dir = xstrdup(dir);
	snprintf(s->uuid, sizeof(s->uuid), "%s", path_basename(dir));
	return 0;
}

/* The uuid that a link names; -1 where it is none of ours. */
static int read_link(int by_id_fd, const char *name, char uuid[UUID_LENGTH + 1])
{
	char target[64];
	ssize_t n = readlinkat(by_id_fd, name, target, sizeof(target) - 1);

	if (n < 0)
		return -1;
	target[n] = '\0';
	if (strncmp(target, "../", 3) || !is_uuid(target + 3))
		return -1;
	memcpy(uuid, target + 3, UUID_LENGTH + 1);
	return 0;
}

int spool_open_job(struct spool *s, const char *root, const char *cluster, uint64_t job_id, struct error *err)
{
	cleanup_fd int fd = open_cluster(root, cluster, false, err);
	char name[32], uuid[UUID_LENGTH + 1];
	cleanup_free char *dir = NULL;

	*s = (struct spool)SPOOL_INIT;
	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), BY_ID "/%" PRIu64, job_id);
	if (read_link(fd, name, uuid) < 0)
		return error_set(err, ERR_SYSTEM, "job %" PRIu64 ": no spool folder", job_id);
	dir = xasprintf("%s/%s/%s", root, cluster, uuid);
	if (spool_open(s, dir, err) < 0)
		return -1;
	s->job_id = job_id;
	return 0;
}

/* The folder of the links, beside the job's folder. */
static int open_links(const struct spool *s, bool make, struct error *err)
{
	cleanup_fd int parent = openat(s->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (parent < 0)
		return error_errno(err, "%s/..", s->dir);
	return path_open_private_dirat(parent, BY_ID, make, err);
}

int spool_link_job(struct spool *s, uint64_t job_id, struct error *err)
{
	cleanup_fd int fd = open_links(s, true, err);
	char name[32], uuid[UUID_LENGTH + 1], target[64];

	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), "%" PRIu64, job_id);
	snprintf(target, sizeof(target), "../%s", s->uuid);
	if (read_link(fd, name, uuid) == 0 && !strcmp(uuid, s->uuid)) {
		s->job_id = job_id;
		return 0;
	}
	/* Ids start again when a site sets its engine up anew: the old job's link is stale then. */
	unlinkat(fd, name, 0);
	/* EEXIST: the job runs already, and its supervisor has made the same link. */
	if (symlinkat(target, fd, name) < 0 && errno != EEXIST)
		return error_errno(err, "cannot link %s/../" BY_ID "/%s", s->dir, name);
	s->job_id = job_id;
	return 0;
}

int spool_remove(struct spool *s, struct error *err)
{
	cleanup_fd int parent = openat(s->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[48];

	if (s->job_id) {
		snprintf(name, sizeof(name), BY_ID "/%" PRIu64, s->job_id);
		unlinkat(parent, name, 0);
	}
	if (parent < 0 || path_remove_treeat(parent, s->uuid) < 0)
		return error_errno(err, "cannot remove %s", s->dir);
	return 0;
}

/* --- housekeeping --- */

static DIR *open_list(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* When something last changed in the folder: itself (a file came or went) or one of its files. */
static time_t last_change(int parent, const char *name)
{
	struct stat st;
	struct dirent *e;
	time_t newest;
	DIR *d;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return time(NULL);
	newest = st.st_mtime;
	d = open_list(parent, name);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime > newest)
			newest = st.st_mtime;
	if (d)
		closedir(d);
	return newest;
}

static void sweep_links(int fd, time_t before, spool_known_fn *is_known, void *arg)
{
	DIR *d = open_list(fd, BY_ID);
	char uuid[UUID_LENGTH + 1];
	struct dirent *e;

	while (d && (e = readdir(d))) {
		uint64_t id = strtoull(e->d_name, NULL, 10);
		struct stat st;

		if (!id || read_link(dirfd(d), e->d_name, uuid) < 0)
			continue;
		if (fstatat(fd, uuid, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			unlinkat(dirfd(d), e->d_name, 0);
			continue;
		}
		if (last_change(fd, uuid) >= before)
			continue;
		/* The supervisor and scancel find a job by its link: it goes last. */
		if (!is_known(id, arg) && path_remove_treeat(fd, uuid) == 0)
			unlinkat(dirfd(d), e->d_name, 0);
		else
			utimensat(fd, uuid, NULL, AT_SYMLINK_NOFOLLOW); /* not asked again before min_age */
	}
	if (d)
		closedir(d);
}

static bool is_linked(int fd, const char *uuid)
{
	DIR *d = open_list(fd, BY_ID);
	char found[UUID_LENGTH + 1];
	bool linked = false;
	struct dirent *e;

	while (d && !linked && (e = readdir(d)))
		linked = read_link(dirfd(d), e->d_name, found) == 0 && !strcmp(found, uuid);
	if (d)
		closedir(d);
	return linked;
}

/* Folders that no link names: qsub never took them, or sbatch died before it could link. */
static void sweep_orphans(int fd, time_t before, spool_known_fn *is_known, void *arg)
{
	DIR *d = open_list(fd, ".");
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_uuid(e->d_name) && last_change(fd, e->d_name) < before && !is_linked(fd, e->d_name) &&
		    !is_known(0, arg))
			path_remove_treeat(fd, e->d_name);
	if (d)
		closedir(d);
}

void spool_sweep(const char *root, const char *cluster, int interval, int min_age, spool_known_fn *is_known,
		 void *arg)
{
	cleanup_fd int fd = open_cluster(root, cluster, false, NULL);
	cleanup_fd int stamp = -1;
	time_t now = time(NULL);
	struct stat st;

	if (fd < 0 || (fstatat(fd, SWEPT, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime <= now &&
		       now - st.st_mtime < interval))
		return;
	stamp = openat(fd, SWEPT, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (stamp < 0 || futimens(stamp, NULL) < 0)
		return;
	sweep_links(fd, now - min_age, is_known, arg);
	sweep_orphans(fd, now - min_age, is_known, arg);
}

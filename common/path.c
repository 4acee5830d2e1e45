/* SPDX-License-Identifier: Apache-2.0 */
#include "common/path.h"

#include "common/fd.h"
#include "common/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir);

	if (name[0] == '/')
		return xstrdup(name);
	return xasprintf("%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
}

char *path_self_dir(struct error *err)
{
	char buf[4096];
	ssize_t n = readlink("/proc/self/exe", buf, sizeof(buf) - 1);
	char *slash;

	if (n < 0) {
		error_errno(err, "/proc/self/exe");
		return NULL;
	}
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	if (slash)
		*slash = '\0';
	return xstrdup(buf);
}

char *path_sibling(const char *name, struct error *err)
{
	cleanup_free char *dir = path_self_dir(err);

	return dir ? path_join(dir, name) : NULL;
}

char *path_cwd(struct error *err)
{
	const char *pwd = getenv("PWD");
	struct stat a, b;
	char *cwd;

	if (pwd && pwd[0] == '/' && stat(pwd, &a) == 0 && stat(".", &b) == 0 && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino)
		return xstrdup(pwd);
	cwd = getcwd(NULL, 0);
	if (!cwd)
		error_errno(err, "getcwd");
	return cwd;
}

int path_mkdirs(const char *path, mode_t mode)
{
	cleanup_free char *p = xstrdup(path);

	if (!*p) {
		errno = ENOENT;
		return -1;
	}
	for (char *s = p + 1; *s; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		if (mkdir(p, mode) < 0 && errno != EEXIST)
			return -1;
		*s = '/';
	}
	return mkdir(p, mode) < 0 && errno != EEXIST ? -1 : 0;
}

int path_open_private_dirat(int dirfd, const char *name, bool make, struct error *err)
{
	cleanup_fd int fd = -1;
	struct stat st;

	if (make && mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
		return error_errno(err, "cannot make %s", name);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, "cannot open %s", name);
	if (st.st_uid != geteuid())
		return error_set(err, ERR_SYSTEM, "%s: owned by another user (uid %u)", name,
				 (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return error_set(err, ERR_SYSTEM, "%s: writable by others (mode %04o); chmod go-w it", name,
				 (unsigned)(st.st_mode & 07777));
	return steal_fd(&fd);
}

int path_open_private_dir(const char *path, bool make, struct error *err)
{
	return path_open_private_dirat(AT_FDCWD, path, make, err);
}

bool path_is_guarded(const char *dir)
{
	struct stat name, folder;

	/* of a link, too, the owner counts: he can let it point elsewhere */
	if (lstat(dir, &name) < 0 || stat(dir, &folder) < 0 || !S_ISDIR(folder.st_mode))
		return false;
	if ((name.st_uid && name.st_uid != geteuid()) || (folder.st_uid && folder.st_uid != geteuid()))
		return false;
	return !(folder.st_mode & 022) || (folder.st_mode & S_ISVTX);
}

int path_open_job_dir(const char *tmpdir, char **path, bool *made, struct error *err)
{
	int fd = -1;

	*made = false;
	*path = NULL;
	if (tmpdir && *tmpdir == '/' && path_is_guarded(tmpdir)) {
		*path = path_join(tmpdir, "slurm-on-ocs");
		fd = path_open_private_dir(*path, true, NULL);
	}
	if (fd >= 0)
		return fd;
	free(*path);
	*path = xstrdup("/tmp/slurm-on-ocs-XXXXXX");
	*made = mkdtemp(*path) != NULL;
	if (!*made)
		return error_errno(err, "cannot make the job's folder in /tmp");
	return path_open_private_dir(*path, false, err);
}

int path_open_ownedat(int dirfd, const char *name, uid_t owner, struct error *err)
{
	cleanup_fd int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, "%s", name);
	if (!S_ISREG(st.st_mode) || st.st_uid != owner)
		return error_set(err, ERR_PROTOCOL, "%s: not a regular file of uid %u", name,
				 (unsigned)owner);
	return steal_fd(&fd);
}

int path_write_newat(int dirfd, const char *name, mode_t mode, const void *data, size_t n, bool sync,
		     struct error *err)
{
	cleanup_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0)
		return error_errno(err, "cannot make %s", name);
	if (fd_write_all(fd, data, n) < 0 || (sync && fsync(fd) < 0)) {
		error_errno(err, "cannot write %s", name);
		unlinkat(dirfd, name, 0);
		return -1;
	}
	return 0;
}

static int remove_entries(int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;
	int rc = 0;

	if (!dir) {
		close(fd);
		return -1;
	}
	while ((d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, "..") &&
		    path_remove_treeat(fd, d->d_name) < 0)
			rc = -1;
	closedir(dir);
	return rc;
}

int path_remove_treeat(int dirfd, const char *name)
{
	int fd;

	if (unlinkat(dirfd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || remove_entries(fd) < 0)
		return -1;
	return unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

int fd_write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

ssize_t fd_read_full(int fd, void *data, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = read(fd, (char *)data + got, n - got);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		if (k == 0)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

int fd_read_to_eof(int fd, size_t max, struct strbuf *out)
{
	size_t start = out->len;

	for (;;) {
		ssize_t k;

		strbuf_reserve(out, 16384);
		k = read(fd, out->buf + out->len, 16384);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		if (k == 0)
			return 0;
		out->len += (size_t)k;
		out->buf[out->len] = '\0';
		if (out->len - start > max) {
			errno = EFBIG;
			return -1;
		}
	}
}

int fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -1;
	return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

int fd_set_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0);
}

int fd_read_file(int dirfd, const char *path, size_t max, struct strbuf *out, struct error *err)
{
	cleanup_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return error_errno(err, "%s", path);
	if (fd_read_to_eof(fd, max, out) < 0)
		return error_errno(err, "%s", path);
	return 0;
}

void fd_raise_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: whole reads and writes, flags. Every descriptor of ours is close-on-exec from its creation. */
#ifndef SOC_COMMON_FD_H
#define SOC_COMMON_FD_H

#include "common/error.h"
#include "common/strbuf.h"

#include <stdbool.h>
#include <sys/types.h>

/* Writes all n bytes, over EINTR and partial writes (blocking descriptor); 0, or -1 with errno. */
int fd_write_all(int fd, const void *data, size_t n);
/* Reads up to n bytes until EOF (blocking descriptor); the count, or -1 with errno. */
ssize_t fd_read_full(int fd, void *data, size_t n);
/* Appends to out until EOF; fails with EFBIG past max bytes. 0, or -1 with errno. */
int fd_read_to_eof(int fd, size_t max, struct strbuf *out);
int fd_set_nonblock(int fd, bool on);
int fd_set_cloexec(int fd, bool on);
/* Whole content of a file below dirfd (AT_FDCWD allowed), at most max bytes, appended to out. */
int fd_read_file(int dirfd, const char *path, size_t max, struct strbuf *out, struct error *err);
/* Raises the soft limit of open files to the hard one (a launcher needs some per rank). */
void fd_raise_limit(void);

#endif

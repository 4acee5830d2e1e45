/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fd.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* More than a pipe holds, so that both sides meet partial reads and writes. */
Test(fd, whole_writes_and_reads)
{
	enum { SIZE = 300000 };
	static char data[SIZE], back[SIZE];
	int p[2];
	pid_t pid;

	memset(data, 'x', sizeof(data));
	data[SIZE - 1] = 'y';
	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		_exit(fd_write_all(p[1], data, sizeof(data)) ? 1 : 0);
	close(p[1]);
	cr_expect_eq(fd_read_full(p[0], back, sizeof(back)), SIZE);
	cr_expect_eq(fd_read_full(p[0], back, 1), 0, "end of file");
	cr_expect_eq(memcmp(data, back, SIZE), 0);
	waitpid(pid, NULL, 0);
}

Test(fd, read_to_eof_has_a_limit)
{
	char path[] = "/tmp/test_fd.XXXXXX";
	cleanup_fd int fd = mkstemp(path);
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_INIT;

	cr_assert_geq(fd, 0);
	cr_assert_eq(fd_write_all(fd, "0123456789", 10), 0);
	strbuf_addstr(&sb, "kept");
	cr_expect_eq(fd_read_file(AT_FDCWD, path, 10, &sb, &err), 0);
	cr_expect_str_eq(sb.buf, "kept0123456789");
	cr_expect_eq(fd_read_file(AT_FDCWD, path, 9, &sb, &err), -1);
	cr_expect_not_null(strstr(err.text, "File too large"), "%s", err.text);
	unlink(path);
	cr_expect_eq(fd_read_file(AT_FDCWD, path, 9, &sb, &err), -1);
	cr_expect_not_null(strstr(err.text, ": No such file or directory"), "%s", err.text);
}

Test(fd, flags)
{
	int p[2];

	cr_assert_eq(pipe(p), 0);
	cr_expect_eq(fd_set_nonblock(p[0], true), 0);
	cr_expect(fcntl(p[0], F_GETFL) & O_NONBLOCK);
	cr_expect_eq(fd_set_nonblock(p[0], false), 0);
	cr_expect_not(fcntl(p[0], F_GETFL) & O_NONBLOCK);
	cr_expect_eq(fd_set_cloexec(p[0], true), 0);
	cr_expect_eq(fcntl(p[0], F_GETFD), FD_CLOEXEC);
	cr_expect_eq(fd_set_cloexec(p[0], false), 0);
	cr_expect_eq(fcntl(p[0], F_GETFD), 0);
	cr_expect_eq(fd_set_nonblock(-1, true), -1);
}

Test(fd, write_error_is_told)
{
	cleanup_fd int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	cr_expect_eq(fd_write_all(fd, "x", 1), -1);
	cr_expect_eq(errno, ENOSPC);
}

Test(fd, raise_limit)
{
	struct rlimit rl;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = 64;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	fd_raise_limit();
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	cr_expect_eq(rl.rlim_cur, rl.rlim_max);
}

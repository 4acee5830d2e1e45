/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/minded.h"

#include "common/compiler.h"
#include "common/fd.h"

#include <stdlib.h>
#include <sys/stat.h>

static int minder_fd = -1;

void minded_attach(void)
{
	const char *text = getenv("SOO_MINDER_FD");
	int fd = text ? (int)strtol(text, NULL, 10) : -1;
	struct stat st;

	unsetenv("SOO_MINDER_FD");
	/* the variable may be anybody's: only a pipe is what we look for */
	if (fd > STDERR_FILENO && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) &&
	    fd_set_cloexec(fd, true) == 0)
		minder_fd = fd;
}

static void tell(int word)
{
	/* an int is far below PIPE_BUF: whole or not at all */
	if (minder_fd >= 0 && write(minder_fd, &word, sizeof(word)) < 0)
		minder_fd = -1;
}

void minded_tell(pid_t script)
{
	tell((int)script);
}

void minded_requeue(void)
{
	tell(-1);
}

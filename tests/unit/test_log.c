/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fd.h"
#include "common/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

static int pipe_fd[2];

static void open_log(int level)
{
	cr_assert_eq(pipe2(pipe_fd, O_CLOEXEC), 0);
	log_open("srun", level);
	log_set_fd(pipe_fd[1]);
}

static void expect(const char *want)
{
	cleanup_strbuf struct strbuf got = STRBUF_INIT;

	close(pipe_fd[1]);
	cr_assert_eq(fd_read_to_eof(pipe_fd[0], 1 << 20, &got), 0);
	close(pipe_fd[0]);
	cr_expect_str_eq(got.buf, want, "%s", got.buf);
}

Test(log, shapes)
{
	open_log(LOG_DEBUG);
	log_error("e %d", 1);
	log_fatal("f");
	log_info("i");
	log_verbose("v");
	log_debug("d");
	log_bare("bare");
	expect("srun: error: e 1\nsrun: fatal: f\nsrun: i\nsrun: v\nsrun: debug: d\nbare\n");
}

Test(log, levels)
{
	static const struct {
		int level;
		const char *want;
	} rows[] = {
		{ LOG_QUIET, "srun: error: e\n" },
		{ LOG_NORMAL, "srun: error: e\nsrun: i\n" },
		{ LOG_VERBOSE, "srun: error: e\nsrun: i\nsrun: v\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		open_log(rows[i].level);
		log_error("e");
		log_info("i");
		log_verbose("v");
		log_debug("d");
		expect(rows[i].want);
	}
}

/* What a user or a file put in can't move the cursor or draw over other lines. */
Test(log, control_characters_are_replaced)
{
	open_log(LOG_NORMAL);
	log_info("a\033[2Jb\rc\td");
	expect("srun: a?[2Jb?c\td\n");
}

Test(log, long_lines_are_cut_and_errno_is_kept)
{
	cleanup_strbuf struct strbuf got = STRBUF_INIT;
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	open_log(LOG_NORMAL);
	errno = ENOTTY;
	log_info("%s", text);
	cr_expect_eq(errno, ENOTTY);
	close(pipe_fd[1]);
	cr_assert_eq(fd_read_to_eof(pipe_fd[0], 1 << 20, &got), 0);
	cr_expect_eq(got.len, 2047);
	cr_expect_eq(got.buf[got.len - 1], '\n');
}

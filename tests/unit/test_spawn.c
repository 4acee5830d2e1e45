/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fd.h"
#include "common/spawn.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

/* sh -c script, everything captured */
struct shell {
	struct argvec argv;
	struct strbuf out, err;
	struct spawn s;
	struct error error;
};

static int sh(struct shell *x, const char *script, struct spawn s)
{
	*x = (struct shell){ ARGVEC_INIT, STRBUF_INIT, STRBUF_INIT, s, ERROR_INIT };
	argvec_pushl(&x->argv, "sh", "-c", script, NULL);
	if (!x->s.program)
		x->s.program = "/bin/sh";
	x->s.argv = &x->argv;
	x->s.out = &x->out;
	x->s.err = &x->err;
	return spawn_run(&x->s, &x->error);
}

static void done(struct shell *x)
{
	argvec_release(&x->argv);
	strbuf_release(&x->out);
	strbuf_release(&x->err);
}

Test(spawn, streams_status_and_input)
{
	struct shell x;

	cr_assert_eq(sh(&x, "cat; echo two >&2; exit 7", (struct spawn){ .input = "one", .input_len = 3 }),
		     0);
	cr_expect_str_eq(x.out.buf, "one");
	cr_expect_str_eq(x.err.buf, "two\n");
	cr_expect_eq(spawn_exit_code(x.s.status), 7);
	done(&x);
	cr_assert_eq(sh(&x, "kill -9 $$", (struct spawn){ 0 }), 0);
	cr_expect_eq(spawn_exit_code(x.s.status), 128 + 9);
	done(&x);
}

Test(spawn, no_input_is_dev_null_and_cwd_and_environment_are_set)
{
	static char pair[] = "ONLY=this";
	char *envp[] = { pair, NULL };
	struct shell x;

	cr_assert_eq(sh(&x, "cat; echo $ONLY$HOME; pwd", (struct spawn){ .envp = envp, .cwd = "/" }), 0);
	cr_expect_str_eq(x.out.buf, "this\n/\n", "%s", x.out.buf);
	done(&x);
}

Test(spawn, what_cannot_run)
{
	struct shell x;

	cr_expect_eq(sh(&x, "", (struct spawn){ .program = "/nonexistent/qsub" }), -1);
	cr_expect_str_eq(x.error.text, "cannot run /nonexistent/qsub: No such file or directory");
	done(&x);
	cr_expect_eq(sh(&x, "", (struct spawn){ .cwd = "/nonexistent" }), -1);
	done(&x);
}

Test(spawn, more_output_than_a_pipe_holds_both_ways, .timeout = 20)
{
	static char big[1 << 20];
	struct shell x;

	memset(big, 'x', sizeof(big));
	cr_assert_eq(sh(&x, "cat; head -c 300000 /dev/zero >&2",
			(struct spawn){ .input = big, .input_len = sizeof(big) }),
		     0);
	cr_expect_eq(x.out.len, sizeof(big));
	cr_expect_eq(x.err.len, 300000);
	done(&x);
}

/* A program that reads nothing must not kill us by SIGPIPE, nor must the child inherit that we ignore it. */
Test(spawn, input_that_nobody_reads, .timeout = 20)
{
	static char big[1 << 20];
	struct shell x;

	cr_expect_eq(sh(&x, "exec 0<&-; kill -PIPE $$; echo ignored",
			(struct spawn){ .input = big, .input_len = sizeof(big) }),
		     0);
	cr_expect_eq(spawn_exit_code(x.s.status), 128 + SIGPIPE);
	done(&x);
}

Test(spawn, limits, .timeout = 20)
{
	struct shell x;

	cr_expect_eq(sh(&x, "exec sleep 60", (struct spawn){ .timeout_ms = 200 }), -1);
	cr_expect_not_null(strstr(x.error.text, "no answer within"), "%s", x.error.text);
	done(&x);
	cr_expect_eq(sh(&x, "exec cat /dev/zero", (struct spawn){ .max_output = 100000 }), -1);
	cr_expect_not_null(strstr(x.error.text, "printed too much"), "%s", x.error.text);
	done(&x);
}

/* A daemon or a cron job may have none of the three: the child's must be right all the same. */
Test(spawn, a_caller_without_stdio)
{
	struct shell x;
	int keep = fcntl(2, F_DUPFD_CLOEXEC, 10), rc;

	close(0);
	close(1);
	close(2);
	rc = sh(&x, "", (struct spawn){ .program = "/nonexistent/qsub" });
	done(&x);
	if (rc == 0) {
		dup2(keep, 2);
		cr_assert_fail("the failure of exec went somewhere else");
	}
	rc = sh(&x, "cat; echo out; echo err >&2", (struct spawn){ .input = "in\n", .input_len = 3 });
	dup2(keep, 2);
	cr_expect_eq(rc, 0, "%s", x.error.text);
	cr_expect_str_eq(x.out.buf, "in\nout\n", "%s", x.out.buf);
	cr_expect_str_eq(x.err.buf, "err\n", "%s", x.err.buf);
	done(&x);
}

Test(spawn, the_child_has_no_signal_blocked)
{
	struct shell x;
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	cr_assert_eq(sh(&x, "kill -TERM $$; echo survived", (struct spawn){ 0 }), 0);
	cr_expect_eq(spawn_exit_code(x.s.status), 128 + SIGTERM);
	done(&x);
}

Test(spawn, trace_is_pasteable)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;
	struct shell x;
	int p[2], saved = dup(2);

	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	dup2(p[1], 2);
	setenv("SLURM_ON_OCS_TRACE", "1", 1);
	cr_expect_eq(sh(&x, "echo 'a b' >/dev/null", (struct spawn){ .trace = true }), 0);
	done(&x);
	setenv("SLURM_ON_OCS_TRACE", "0", 1);
	cr_expect_eq(sh(&x, ":", (struct spawn){ .trace = true }), 0);
	done(&x);
	dup2(saved, 2);
	close(p[1]);
	cr_assert_eq(fd_read_to_eof(p[0], 10000, &line), 0);
	cr_expect_str_eq(line.buf, "+ sh -c 'echo '\\''a b'\\'' >/dev/null'\n", "%s", line.buf);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --dependency, seen from the job: a last look before its script starts, and word to those that wait for it. The
 * translator reads records and asks the engine (`translate dependency`); docs/design/030-dependencies.md.
 */
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/spawn.h"
#include "launcher/batch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
	EXIT_NEVER = 10,
	EXIT_WAIT = 11,
	TIMEOUT_MS = 120 * 1000,
	PATIENCE = 300, /* s that the engine may take to answer again */
	RETRY = 10,     /* s */
};

static bool has_file(const struct batch *b, const char *name)
{
	return faccessat(b->spool.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Runs `translate dependency command ...`; its exit code, or -1 with err. */
static int call(struct batch *b, struct argvec *more, struct strbuf *out, struct error *err)
{
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_free char *program = path_join(b->libexec, "translate");
	cleanup_strbuf struct strbuf said = STRBUF_INIT;
	struct spawn s = {
		.program = program, .argv = &argv, .out = out, .err = &said, .timeout_ms = TIMEOUT_MS
	};
	int code;

	argvec_pushl(&argv, "translate", "dependency", more->v[0], b->spool.dir,
		     b->job.launch.accounting_dir ? b->job.launch.accounting_dir : "", NULL);
	for (size_t i = 1; i < more->n; i++)
		argvec_push(&argv, more->v[i]);
	if (spawn_run(&s, err) < 0)
		return -1;
	code = spawn_exit_code(s.status);
	if (code && code != EXIT_NEVER && code != EXIT_WAIT)
		return error_set(err, ERR_SYSTEM, "%.*s", (int)strcspn(said.buf, "\n"),
				 said.len ? said.buf : "translate dependency failed");
	return code;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* false: the minder died meanwhile, and with it the job. */
static bool wait_seconds(long seconds, pid_t minder)
{
	int64_t end = now() + seconds;

	while (now() < end && getppid() == minder)
		usleep(200 * 1000);
	return getppid() == minder;
}

/*
 * What let the job go once needn't hold when it is requeued: its predecessor may have been requeued itself, and ended
 * otherwise. Each element of an array has a file of its own for that.
 */
static char *name_of_pass(const struct batch *b)
{
	return xasprintf("dependency.met.%" PRIu32, b->alloc.engine_task);
}

static bool has_passed(const struct batch *b)
{
	cleanup_free char *name = name_of_pass(b);

	return has_file(b, name);
}

static void remember(const struct batch *b)
{
	cleanup_free char *name = name_of_pass(b);
	cleanup_fd int fd = openat(b->spool.fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		log_verbose("%s: %s", name, strerror(errno));
}

int depend_gate(struct batch *b, struct error *err)
{
	pid_t minder = getppid();
	int64_t start = now();

	if (!has_file(b, "dependency") || has_passed(b))
		return GATE_OPEN;
	for (;;) {
		cleanup_argvec struct argvec words = ARGVEC_INIT;
		cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct error why = ERROR_INIT;
		int64_t waited = now() - start;
		int code;

		argvec_push(&words, "check");
		argvec_pushf(&words, "%" PRIu32, b->alloc.engine_task);
		argvec_pushf(&words, "%" PRId64, waited);
		code = call(b, &words, &out, &why);
		if (code < 0 && waited >= PATIENCE)
			return error_set(err, ERR_SYSTEM, "cannot tell whether the job may start: %s",
					 why.text);
		if (!wait_seconds(code < 0            ? RETRY
				  : code == EXIT_WAIT ? strtol(out.buf, NULL, 10)
						      : 0,
				  minder))
			return GATE_KILLED;
		if (code == 0)
			remember(b);
		if (code == 0 || code == EXIT_NEVER)
			return code == 0 ? GATE_OPEN : GATE_NEVER;
	}
}

void depend_tell(struct batch *b, bool start)
{
	cleanup_argvec struct argvec words = ARGVEC_INIT;
	struct error err = ERROR_INIT;
	pid_t pid;

	if (!has_file(b, start ? "dependents.start" : "dependents"))
		return;
	/* At its start the job doesn't wait for this; at its end the engine must not be quicker than we. */
	pid = start ? fork() : 0;
	if (pid)
		return;
	argvec_pushl(&words, "settle", start ? "start" : "end", NULL);
	if (call(b, &words, NULL, &err) < 0)
		log_verbose("dependents: %s", err.text);
	if (start)
		_exit(0);
}

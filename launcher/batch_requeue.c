/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a run that is to be followed by another (scontrol requeue). All of the job's processes have ended.
 *
 * On one host: exit code 99, by which the engine starts a job again at once. A job on several hosts would then wait for
 * ever "until clean up of a previous run has finished" on those where tasks ran (8.1.9); for qmod -rj the engine cleans up.
 * That starts the next run up to a second before this one is killed, but there is nothing left of it except us.
 */
#include "common/log.h"
#include "common/mem.h"
#include "common/spawn.h"
#include "launcher/batch.h"
#include "launcher/minded.h"
#include "ocs/engine.h"

#include <inttypes.h>
#include <string.h>

#define ENGINE_TIMEOUT_MS (60 * 1000)
#define KILL_TIMEOUT_MS (30 * 1000)
/* A job that qmaster still takes for one on its way to the host is rescheduled, but never killed there. */
#define ARRIVAL_MS 5000
#define ATTEMPTS 3
#define LOOK_US (100 * 1000)

/* Has the engine said that it will? */
static bool reschedule(const struct batch *b)
{
	cleanup_free char *program = engine_client("qmod", NULL);
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_strbuf struct strbuf out = STRBUF_INIT, err = STRBUF_INIT;
	struct spawn s = { .program = program,
			   .argv = &argv,
			   .envp = b->engine.vars.v,
			   .out = &out,
			   .err = &err,
			   .timeout_ms = ENGINE_TIMEOUT_MS };

	if (!program)
		return false;
	argvec_pushl(&argv, "qmod", "-rj", NULL);
	if (b->alloc.engine_task)
		argvec_pushf(&argv, "%" PRIu64 ".%" PRIu32, b->alloc.engine_id, b->alloc.engine_task);
	else
		argvec_pushf(&argv, "%" PRIu64, b->alloc.engine_id);
	return spawn_run(&s, NULL) == 0 && spawn_exit_code(s.status) == 0 && out.len &&
	       strstr(out.buf, "reschedul");
}

int requeue_exit(const struct batch *b)
{
	pid_t minder = getppid();
	int64_t early = b->started + ARRIVAL_MS - loop_now();

	if (b->alloc.nhosts == 1) {
		minded_requeue();
		return MINDED_REQUEUE_CODE;
	}
	if (early > 0)
		usleep((useconds_t)early * 1000);
	for (int i = 0; i < ATTEMPTS && getppid() == minder && reschedule(b); i++)
		for (int ms = 0; ms < KILL_TIMEOUT_MS && getppid() == minder; ms += LOOK_US / 1000)
			usleep(LOOK_US);
	/* (99 would keep the other hosts from all parallel jobs while this one waits for them) */
	if (getppid() == minder)
		log_error("the engine doesn't start the job again (qmod -rj)");
	return 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/duration.h"
#include "common/log.h"
#include "launcher/batch.h"
#include "launcher/tree.h"

#include <inttypes.h>
#include <signal.h>
#include <time.h>

/* With ENABLE_ADDGRP_KILL the engine stops us too, and we learn of it when we go on: a gap between two looks tells for
 * how long. */
#define LOOK_MS 5000

void limits_signal(struct batch *b, int signo, bool full)
{
	const pid_t *spared;
	size_t n = batch_spared(b, &spared);

	if (full)
		tree_signal_but(signo, spared, n);
	else if (b->script_pid > 0)
		kill(b->script_pid, signo);
}

static void on_kill(void *arg)
{
	struct batch *b = arg;

	limits_signal(b, SIGKILL, true);
	if (b->steps)
		steps_signal(b->steps, -1, SIGKILL);
}

/* Slurm's line in the job's own stderr; scripts look for it. */
static void announce(const struct batch *b, const char *why)
{
	time_t now = time(NULL);
	char text[32] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	log_error("*** JOB %" PRIu64 " ON %s CANCELLED AT %s%s ***", b->alloc.job_id,
		  b->alloc.hosts[0].node_name, text, why);
}

static const char *reason_of(enum batch_end why)
{
	if (why == END_TIMEOUT || why == END_DEADLINE)
		return " DUE TO TIME LIMIT";
	return why == END_REQUEUED ? " DUE TO JOB REQUEUE" : "";
}

void limits_end_job(struct batch *b, enum batch_end why, int64_t by)
{
	if (b->end != END_NONE || b->script_pid < 0)
		return;
	b->end = why;
	b->cancelled_by = by;
	limits_stop(b);
	announce(b, reason_of(why));
	if (b->steps) {
		steps_close(b->steps);
		steps_signal(b->steps, -1, SIGTERM);
	}
	limits_signal(b, SIGTERM, true);
	/* a stopped process takes its TERM when it is continued: as Slurm does, not later than that */
	limits_signal(b, SIGCONT, true);
	loop_timer_set(&b->loop, &b->kill, (int64_t)b->job.launch.kill_wait * 1000, on_kill, b);
}

static void on_limit(void *arg)
{
	const struct batch *b = arg;

	limits_end_job(arg, b->at_deadline ? END_DEADLINE : END_TIMEOUT, 0);
}

static void warn(struct batch *b, int signo)
{
	if (b->job.signal_batch_only)
		limits_signal(b, signo, false);
	else if (b->steps)
		steps_signal(b->steps, -1, signo);
}

/* --signal: B: is for the script alone, without it only the steps get it; what is stopped must go on to see it. */
static void on_warning(void *arg)
{
	struct batch *b = arg;

	warn(b, SIGCONT);
	warn(b, (int)b->job.signal_number);
}

static void on_look(void *arg)
{
	struct batch *b = arg;

	b->looked = loop_now();
	loop_timer_set(&b->loop, &b->look, LOOK_MS, on_look, b);
}

static void arm(struct batch *b, int64_t limit_ms, int64_t warning_ms)
{
	if (limit_ms >= 0)
		loop_timer_set(&b->loop, &b->limit, limit_ms, on_limit, b);
	if (warning_ms >= 0)
		loop_timer_set(&b->loop, &b->warning, warning_ms, on_warning, b);
	if (limit_ms >= 0)
		on_look(b);
}

bool limits_in_time(const struct batch *b)
{
	const struct jobspec *j = &b->job;
	int64_t least = j->time_min ? j->time_min : j->time_limit;

	if (!j->deadline)
		return true;
	return j->deadline - time(NULL) >= (least == DURATION_INFINITE || least < 1 ? 1 : least);
}

/* s from now. */
static int64_t first_limit(struct batch *b)
{
	int64_t limit = b->job.time_limit, left = b->job.deadline - time(NULL);

	if (!b->job.deadline || (limit > 0 && limit <= left))
		return limit;
	b->at_deadline = true;
	return left > 1 ? left : 1;
}

void limits_start(struct batch *b)
{
	int64_t limit = first_limit(b), warning;

	if (limit == DURATION_INFINITE || limit <= 0 || limit > INT64_MAX / 1000)
		return;
	warning = limit > b->job.signal_before ? limit - b->job.signal_before : 0;
	arm(b, limit * 1000, b->job.signal_number ? warning * 1000 : -1);
}

void limits_stop(struct batch *b)
{
	loop_timer_cancel(&b->loop, &b->limit);
	loop_timer_cancel(&b->loop, &b->warning);
	loop_timer_cancel(&b->loop, &b->look);
}

/* What is left of a timer; -1: it isn't armed. */
static int64_t left(const struct loop_timer *t, int64_t slept)
{
	int64_t ms = t->due - loop_now() + slept;

	return !t->active ? -1 : ms < 0 ? 0 : ms;
}

/* We were stopped with the rest. */
static void resumed(struct batch *b)
{
	int64_t slept = loop_now() - b->looked - LOOK_MS;

	if (b->limit.active && slept > 0)
		arm(b, left(&b->limit, slept), left(&b->warning, slept));
}

void limits_suspend(struct batch *b, bool stopped)
{
	if (stopped == b->suspended) {
		if (!stopped)
			resumed(b);
		return;
	}
	b->suspended = stopped;
	limits_signal(b, stopped ? SIGSTOP : SIGCONT, true);
	if (b->steps)
		steps_suspend(b->steps, stopped);
	if (stopped) {
		b->limit_left = left(&b->limit, 0);
		b->warning_left = left(&b->warning, 0);
		limits_stop(b);
	} else {
		int64_t left_s = b->job.deadline - time(NULL);

		/* a deadline doesn't wait for a suspended job */
		if (b->at_deadline)
			b->limit_left = left_s > 0 ? left_s * 1000 : 0;
		arm(b, b->limit_left, b->warning_left);
	}
}

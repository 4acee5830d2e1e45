/* SPDX-License-Identifier: Apache-2.0 */
/* How a step ends: ends of tasks and their texts, signals to srun, -K, -W, the time limit, the exit code. */
#include "common/duration.h"
#include "common/log.h"
#include "common/mem.h"
#include "launcher/step_private.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define INT_AGAIN_MS 1000 /* the second Ctrl-C counts within that */
#define INT_KILL_MS 100   /* what the tasks may make of a Ctrl-C before they are killed */

/* --- lists of tasks --- */

/* "task 3" or "tasks 0-1,3" of those that pick() takes; false: none. */
typedef bool (*pick_fn)(const struct srun *s, uint32_t rank, const void *arg);

static bool list_tasks(const struct srun *s, pick_fn pick, const void *arg, struct strbuf *out)
{
	struct strbuf ids = STRBUF_INIT;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->g.layout.ntasks; i++) {
		uint32_t last = i;

		if (!pick(s, i, arg))
			continue;
		while (last + 1 < s->g.layout.ntasks && pick(s, last + 1, arg))
			last++;
		strbuf_addf(&ids, last > i ? "%s%u-%u" : "%s%u", n ? "," : "", i, last);
		n += last - i + 1;
		i = last;
	}
	strbuf_addf(out, "task%s %s", n > 1 ? "s" : "", ids.buf);
	strbuf_release(&ids);
	return n > 0;
}

struct same_end {
	uint32_t host;
	int status;
	enum task_state state;
};

static bool has_same_end(const struct srun *s, uint32_t rank, const void *arg)
{
	const struct same_end *e = arg;
	const struct srun_task *t = &s->tasks[rank];

	return t->host == e->host && t->state == e->state && !t->told && t->status == e->status;
}

static void print_end(const struct srun *s, const struct same_end *e)
{
	cleanup_strbuf struct strbuf who = STRBUF_INIT;
	const char *node = s->g.hosts[e->host].name;

	list_tasks(s, has_same_end, e, &who);
	if (e->state == TASK_LOST)
		log_error("%s: %s: Lost, counted as failed", node, who.buf);
	else if (WIFSIGNALED(e->status))
		log_error("%s: %s: %s%s", node, who.buf, strsignal(WTERMSIG(e->status)),
			  WCOREDUMP(e->status) ? " (core dumped)" : "");
	else
		log_error("%s: %s: Exited with exit code %d", node, who.buf, WEXITSTATUS(e->status));
}

void end_report(struct srun_host *h)
{
	struct srun *s = h->srun;

	loop_timer_cancel(&s->loop, &h->report);
	for (uint32_t k = 0; k < s->g.layout.tasks[h->index]; k++) {
		struct srun_task *t = &s->tasks[s->g.layout.ranks[h->index][k]];
		struct same_end e = { .host = h->index, .status = t->status, .state = t->state };

		if (t->told || (t->state != TASK_EXITED && t->state != TASK_LOST))
			continue;
		print_end(s, &e);
		for (uint32_t m = 0; m < s->g.layout.tasks[h->index]; m++) {
			uint32_t rank = s->g.layout.ranks[h->index][m];

			if (has_same_end(s, rank, &e))
				s->tasks[rank].told = true;
		}
	}
}

/* --- ends of tasks --- */

static int code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void on_wait(void *arg)
{
	struct srun *s = arg;

	end_abort(s, ABORT_WAIT);
}

static void note_first_exit(struct srun *s)
{
	if (s->first_exit)
		return;
	s->first_exit = true;
	s->first_exit_ms = loop_now();
	if (s->spec.wait)
		loop_timer_set(&s->loop, &s->wait, (int64_t)s->spec.wait * 1000, on_wait, s);
}

static bool kills_on_bad_exit(const struct srun *s)
{
	return s->spec.kill_on_bad_exit < 0 ? s->g.kill_on_bad_exit : s->spec.kill_on_bad_exit > 0;
}

void end_task(struct srun *s, uint32_t rank, int status)
{
	struct srun_task *t = &s->tasks[rank];
	int code = code_of(status);

	t->state = TASK_EXITED;
	t->status = status;
	t->told = code == 0;
	note_first_exit(s);
	/* the highest counts, but a death by a signal more than any exit code */
	if (WIFSIGNALED(status) ? !s->final_signal || code > s->code : !s->final_signal && code > s->code) {
		s->code = code;
		s->final_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	}
	if (code && kills_on_bad_exit(s) && s->abort == ABORT_NONE) {
		end_report(&s->hosts[t->host]);
		end_abort(s, ABORT_BAD_EXIT);
	}
}

void end_task_lost(struct srun *s, uint32_t rank)
{
	struct srun_task *t = &s->tasks[rank];

	if (t->state != TASK_RUNNING)
		return;
	t->state = TASK_LOST;
	t->status = 0;
	if (!s->code)
		s->code = 1;
}

/* --- the end of the step before its tasks' --- */

/* In Slurm it is the first host's manager that says it, as long as it has a task. */
static void say_cancelled(const struct srun *s, const char *why)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[32] = "";

	if (s->hosts[0].reported == s->g.layout.tasks[0])
		return;
	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	log_bare("slurmstepd: error: *** STEP %s ON %s CANCELLED AT %s%s ***", step_name(s),
		 s->g.hosts[0].name, when, why);
}

static void say_aborted(struct srun *s)
{
	s->job_step_aborted = true;
	log_info("Job step aborted: Waiting up to %u seconds for job step to finish.", s->g.kill_wait + 2);
}

static void say_terminating(const struct srun *s)
{
	log_info("launch/slurm: _step_signal: Terminating StepId=%s", step_name(s));
}

static bool is_running(const struct srun *s, uint32_t rank, const void *arg)
{
	(void)arg;
	return s->tasks[rank].state == TASK_RUNNING;
}

static bool is_waiting(const struct srun *s, uint32_t rank, const void *arg)
{
	(void)arg;
	return s->tasks[rank].state == TASK_WAITING;
}

static bool has_exited(const struct srun *s, uint32_t rank, const void *arg)
{
	bool bad = s->tasks[rank].state == TASK_LOST || s->tasks[rank].status != 0;

	return s->tasks[rank].state >= TASK_EXITED && bad == *(const bool *)arg;
}

static void say_list(const struct srun *s, pick_fn pick, bool arg, const char *what)
{
	cleanup_strbuf struct strbuf who = STRBUF_INIT;

	if (list_tasks(s, pick, &arg, &who))
		log_info("StepId=%s %s: %s", step_name(s), who.buf, what);
}

static void say_status(const struct srun *s)
{
	say_list(s, is_waiting, false, "unknown");
	say_list(s, is_running, false, "running");
	say_list(s, has_exited, false, "exited");
	say_list(s, has_exited, true, "exited abnormally");
}

static void on_kill(void *arg)
{
	struct srun *s = arg;

	hosts_signal(s, SIGKILL);
}

static void on_abort_limit(void *arg)
{
	struct srun *s = arg;

	log_error("Timed out waiting for job step to complete");
	for (uint32_t i = 0; i < s->g.nhosts; i++)
		if (s->hosts[i].state < HOST_DONE)
			host_lost(&s->hosts[i], "it didn't end its ranks");
}

static void kill_soon(struct srun *s, int64_t ms)
{
	loop_timer_set(&s->loop, &s->kill, ms, on_kill, s);
	loop_timer_set(&s->loop, &s->abort_limit, ms + ((int64_t)s->g.kill_wait + 2) * 1000, on_abort_limit,
		       s);
}

static void kill_now(struct srun *s)
{
	hosts_signal(s, SIGKILL);
	kill_soon(s, 1000);
}

static void terminate(struct srun *s)
{
	hosts_signal(s, SIGTERM);
	kill_soon(s, (int64_t)s->g.kill_wait * 1000);
}

/* Nothing runs yet: the hosts are let go. */
static void drop_hosts(struct srun *s)
{
	for (uint32_t i = 0; i < s->g.nhosts; i++)
		host_lost(&s->hosts[i], "the step was given up");
}

static void abort_by_wait(struct srun *s)
{
	log_info("First task exited %" PRId64 "s ago", (loop_now() - s->first_exit_ms) / 1000);
	say_status(s);
	say_terminating(s);
	say_cancelled(s, "");
	say_aborted(s);
	kill_now(s);
}

void end_abort(struct srun *s, enum abort_kind kind)
{
	if (s->done_sent || (s->abort != ABORT_NONE && kind <= ABORT_WAIT))
		return;
	if (s->abort == ABORT_LAUNCH || (s->abort != ABORT_NONE && s->job_step_aborted))
		return;
	s->abort = kind;
	if (!s->started) {
		log_info("Job step aborted");
		s->job_step_aborted = true;
		s->fixed_code = kind == ABORT_LAUNCH ? CODE_LAUNCH : 128 + SIGKILL;
		drop_hosts(s);
		return;
	}
	switch (kind) {
	case ABORT_BAD_EXIT:
		say_terminating(s);
		say_cancelled(s, "");
		terminate(s);
		break;
	case ABORT_WAIT:
		abort_by_wait(s);
		break;
	case ABORT_TIME:
		s->timed_out = true;
		say_cancelled(s, " DUE TO TIME LIMIT");
		say_aborted(s);
		terminate(s);
		break;
	case ABORT_LAUNCH:
		s->fixed_code = CODE_LAUNCH;
		say_aborted(s);
		kill_now(s);
		break;
	case ABORT_SIGNAL:
		log_info("forcing job termination");
		say_aborted(s);
		say_cancelled(s, "");
		kill_now(s);
		break;
	case ABORT_CANCEL:
		say_cancelled(s, "");
		say_aborted(s);
		kill_now(s);
		break;
	case ABORT_PIPE:
	case ABORT_NODE:
		say_aborted(s);
		say_cancelled(s, "");
		kill_now(s);
		break;
	case ABORT_NONE:
		break;
	}
}

static void on_time_limit(void *arg)
{
	end_abort(arg, ABORT_TIME);
}

void end_started(struct srun *s)
{
	if (s->spec.time_limit != DURATION_INFINITE)
		loop_timer_set(&s->loop, &s->time_limit, s->spec.time_limit * 1000, on_time_limit, s);
}

/* --- signals to srun --- */

static void after_int(void *arg)
{
	end_abort(arg, ABORT_SIGNAL);
}

static void interrupt(struct srun *s)
{
	int64_t now = loop_now();

	if (s->spec.disable_status) {
		log_info("sending Ctrl-C to StepId=%s", step_name(s));
		hosts_signal(s, SIGINT);
		return;
	}
	if (s->last_int_ms && now - s->last_int_ms <= INT_AGAIN_MS) {
		if (s->int_kill.active || s->abort != ABORT_NONE)
			return;
		log_info("sending Ctrl-C to StepId=%s", step_name(s));
		hosts_signal(s, SIGINT);
		loop_timer_set(&s->loop, &s->int_kill, INT_KILL_MS, after_int, s);
		return;
	}
	s->last_int_ms = now;
	log_info("interrupt (one more within 1 sec to abort)");
	say_status(s);
}

void end_signal(struct srun *s, int signo, pid_t sender)
{
	switch (signo) {
	case SIGINT:
		if (s->started)
			interrupt(s);
		else
			end_abort(s, ABORT_SIGNAL);
		break;
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
		end_abort(s, ABORT_SIGNAL);
		break;
	case SIGPIPE:
		/* our own failed writes are dealt with where they happen */
		if (sender != getpid())
			end_abort(s, ABORT_PIPE);
		break;
	case SIGCONT:
		log_info("got SIGCONT");
		break;
	case SIGUSR1:
	case SIGUSR2:
		hosts_signal(s, signo);
		break;
	default:
		break;
	}
}

/* --- the verdict --- */

static bool died_by_force(const struct srun *s)
{
	for (uint32_t i = 0; i < s->g.layout.ntasks; i++) {
		const struct srun_task *t = &s->tasks[i];

		if (t->state == TASK_EXITED && WIFSIGNALED(t->status) &&
		    (WTERMSIG(t->status) == SIGKILL || WTERMSIG(t->status) == SIGTERM))
			return true;
	}
	return false;
}

static const char *state_of(const struct srun *s)
{
	if (s->timed_out)
		return "TIMEOUT";
	if (s->node_failed)
		return "NODE_FAIL";
	if (s->abort == ABORT_SIGNAL || s->abort == ABORT_CANCEL || s->abort == ABORT_PIPE)
		return "CANCELLED";
	return s->code || s->fixed_code ? "FAILED" : "COMPLETED";
}

int end_verdict(struct srun *s, struct step_done *d)
{
	if (s->started && !s->job_step_aborted && died_by_force(s))
		log_info("Force Terminated StepId=%s", step_name(s));
	*d = (struct step_done){
		.state = (char *)state_of(s),
		.code = s->final_signal ? 0 : (uint32_t)(s->fixed_code ? s->fixed_code : s->code),
		.signal = (uint32_t)s->final_signal,
		.utime_us = s->utime_us,
		.stime_us = s->stime_us,
		.maxrss_kib = s->maxrss_kib,
	};
	return s->fixed_code ? s->fixed_code : s->code;
}

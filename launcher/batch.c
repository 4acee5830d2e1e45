/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/batch.h"

#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/spawn.h"
#include "launcher/tree.h"
#include "ocs/record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

extern char **environ;

#define JOBSPEC_MAX (64u << 20)
/* After a KILL by the engine: what the agents may take to let go before we leave them to it. */
#define GIVE_UP_MS 5000
/* Signal that stands for "not launched" in Slurm's exit codes ("0:53"). */
#define LAUNCH_FAILURE_SIGNAL 53

size_t batch_spared(struct batch *b, const pid_t **pids)
{
	const pid_t *steppers = NULL;
	size_t n = b->steps ? steps_pids(b->steps, &steppers) : 0;

	b->spared = xreallocarray(b->spared, n + 1, sizeof(*b->spared));
	if (n)
		memcpy(b->spared, steppers, n * sizeof(*b->spared));
	if (b->canary.pid > 0)
		b->spared[n++] = b->canary.pid;
	*pids = b->spared;
	return n;
}

/* --- records --- */

static void append(struct batch *b, struct record *r)
{
	struct error err = ERROR_INIT;

	if (b->record_fd >= 0 && record_append(r, b->record_fd, b->alloc.engine_id, b->alloc.engine_task,
					       b->alloc.hosts[0].node_name, &err) < 0)
		log_error("cannot write the job's record: %s", err.text);
	record_release(r);
}

static void record_event(struct batch *b, struct record *r, const char *event)
{
	record_begin(r, event, b->alloc.engine_id, b->alloc.engine_task, b->alloc.restart);
}

static void write_start(struct batch *b)
{
	cleanup_argvec struct argvec nodes = ARGVEC_INIT;
	cleanup_free uint32_t *slots = xcalloc(b->alloc.nhosts, sizeof(*slots));
	struct record r;

	for (size_t i = 0; i < b->alloc.nhosts; i++) {
		argvec_push(&nodes, b->alloc.hosts[i].node_name);
		slots[i] = b->alloc.hosts[i].slots;
	}
	record_event(b, &r, "start");
	record_str(&r, "host", b->alloc.hosts[0].node_name);
	record_str(&r, "queue", getenv("QUEUE")); /* the engine tells it only while the job is there */
	record_strings(&r, "nodes", nodes.v, nodes.n);
	record_numbers(&r, "slots", slots, b->alloc.nhosts);
	record_int(&r, "pid", getpid());
	append(b, &r);
}

static void write_end(struct batch *b, const char *state, int code, int signo, const char *reason)
{
	struct record r;

	record_event(b, &r, "end");
	record_str(&r, "state", state);
	record_int(&r, "code", code);
	record_int(&r, "signal", signo);
	if (b->end == END_CANCELLED)
		record_int(&r, "by", b->cancelled_by);
	if (reason)
		record_str(&r, "reason", reason);
	append(b, &r);
}

static void write_script_end(struct batch *b)
{
	int code = WIFEXITED(b->status) ? WEXITSTATUS(b->status) : 0;
	int signo = WIFSIGNALED(b->status) ? WTERMSIG(b->status) : 0;
	const char *state = code || signo ? "FAILED" : "COMPLETED";

	if (b->end == END_TIMEOUT)
		state = "TIMEOUT";
	else if (b->end == END_DEADLINE)
		state = "DEADLINE";
	else if (b->end == END_CANCELLED)
		state = "CANCELLED";
	else if (b->end == END_REQUEUED)
		state = "REQUEUED";
	write_end(b, state, code, signo, NULL);
}

/* --- the end --- */

static void on_all_ended(void *arg)
{
	struct batch *b = arg;

	loop_stop(&b->loop);
}

static void end_steps(struct batch *b, int64_t kill_wait_ms)
{
	if (b->steps)
		steps_end(b->steps, kill_wait_ms, on_all_ended, b);
	else
		loop_stop(&b->loop);
}

/* What the script left behind on this host ends with it; steps have their own end. */
static void on_script_end(void *arg, pid_t pid, int status, const struct rusage *ru)
{
	struct batch *b = arg;

	(void)pid;
	(void)ru;
	if (WIFSTOPPED(status) || WIFCONTINUED(status))
		return;
	b->script_pid = -1;
	b->status = status;
	limits_stop(b);
	loop_timer_cancel(&b->loop, &b->kill);
	limits_signal(b, SIGKILL, true);
	if (b->end == END_KILLED)
		return;
	if (b->end == END_NONE)
		b->end = END_SCRIPT;
	end_steps(b, (int64_t)b->job.launch.kill_wait * 1000);
}

/* The minder is dead already. With ENABLE_ADDGRP_KILL so are we in a moment: the record goes first. */
static void killed_by_engine(struct batch *b)
{
	if (b->end == END_KILLED)
		return;
	b->end = END_KILLED;
	write_end(b, "KILLED_BY_ENGINE", 0, SIGKILL, NULL);
	limits_stop(b);
	loop_timer_cancel(&b->loop, &b->kill);
	loop_timer_set(&b->loop, &b->give_up, GIVE_UP_MS, on_all_ended, b);
	limits_signal(b, SIGKILL, true);
	end_steps(b, 0);
}

static void on_canary(void *arg, enum canary_event event)
{
	struct batch *b = arg;

	if (event == CANARY_KILLED)
		killed_by_engine(b);
	else
		limits_suspend(b, event == CANARY_STOPPED);
}

/* --- what others ask for --- */

static void on_cancel(void *arg, uid_t by)
{
	limits_end_job(arg, END_CANCELLED, by);
}

static void on_signal_batch(void *arg, int signo, bool full)
{
	limits_signal(arg, signo, full);
}

static const char *on_requeue(void *arg)
{
	struct batch *b = arg;

	if (!b->job.requeue)
		return "Requested operation is presently disabled";
	if (b->script_pid < 0 || (b->end != END_NONE && b->end != END_REQUEUED))
		return "Job/step already completing or completed";
	limits_end_job(b, END_REQUEUED, 0);
	return NULL;
}

/* A terminate_method of the site's, passed on by the minder: the mild form of a KILL. */
static void on_signal(void *arg, int signo, pid_t sender)
{
	(void)sender;
	if (signo == SIGTERM)
		limits_end_job(arg, END_CANCELLED, getuid());
}

/* --- the beginning --- */

/*
 * The engine's RESTARTED says only whether there was a run before. A file in the spool folder is a byte longer with each
 * restart: runs may overlap, and appending never loses one.
 */
static int count_restarts(struct batch *b, struct error *err)
{
	char name[32] = "restarts";
	struct stat st;
	cleanup_fd int fd = -1;

	if (b->alloc.engine_task)
		snprintf(name, sizeof(name), "restarts.%u", b->alloc.engine_task);
	fd = openat(b->spool.fd, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, ".", 1) != 1 || fstat(fd, &st) < 0)
		return error_errno(err, "%s/%s", b->spool.dir, name);
	b->alloc.restart = (uint32_t)st.st_size;
	return 0;
}

static int load_job(struct batch *b, const char *spool_dir, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (spool_open(&b->spool, spool_dir, err) < 0)
		return error_wrap(err, "spool folder");
	if (fd_read_file(b->spool.fd, "job", JOBSPEC_MAX, &text, err) < 0 ||
	    jobspec_unpack(&b->job, text.buf, text.len, err) < 0)
		return error_wrap(err, "%s", spool_dir);
	if (alloc_load(&b->alloc, &b->job, &b->engine, err) < 0)
		return -1;
	return b->alloc.restart ? count_restarts(b, err) : 0;
}

static int make_job_dir(struct batch *b, struct error *err)
{
	b->job_fd = path_open_job_dir(env_get(&b->engine, "TMPDIR"), &b->job_dir, &b->own_job_dir, err);
	return b->job_fd < 0 ? -1 : 0;
}

static void open_records(struct batch *b)
{
	struct error err = ERROR_INIT;

	b->record_fd = record_open_dir(b->job.launch.accounting_dir, b->spool.dir, &err);
	if (b->record_fd < 0)
		log_error("no records of this job: %s", err.text);
}

static void start_steps(struct batch *b)
{
	const struct steps_config cfg = {
		.loop = &b->loop,
		.alloc = &b->alloc,
		.job = &b->job,
		.job_env = &b->env,
		.libexec = b->libexec,
		.job_dir = b->job_dir,
		.spool_dir = b->spool.dir,
		.record_dirfd = b->record_fd,
		.host = b->alloc.hosts[0].node_name,
		.hooks = { on_cancel, on_signal_batch, on_requeue, b },
	};
	struct error err = ERROR_INIT;

	b->steps = steps_new(&cfg, &err);
	if (!b->steps)
		log_error("srun will not work in this job: %s", err.text);
}

static int start_loop(struct batch *b, pid_t minder_group, struct error *err)
{
	/* warnings of the engine (-notify, s_rt) go to every process of the job: the script may act on them, not we */
	static const int taken[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU };
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaddset(&mask, taken[i]);
	signal(SIGPIPE, SIG_IGN);
	if (loop_init(&b->loop, &mask, on_signal, b, err) < 0)
		return -1;
	return canary_start(&b->canary, &b->loop, minder_group, on_canary, b, err);
}

/* Everything up to the fork of the script. *launch: from here on a failure is the job's, and recorded. */
static int prepare(struct batch *b, const char *spool_dir, pid_t minder_group, bool *launch,
		   struct error *err)
{
	int rc;

	if (load_job(b, spool_dir, err) < 0)
		return -1;
	b->libexec = path_self_dir(err);
	if (!b->libexec || make_job_dir(b, err) < 0)
		return -1;
	open_records(b);
	*launch = true;
	rc = depend_gate(b, err);
	if (rc > 0)
		b->end = rc == GATE_NEVER ? END_NEVER : END_KILLED;
	if (!rc && !limits_in_time(b)) {
		b->end = END_DEADLINE;
		rc = 1;
	}
	if (rc || output_open(b, err) < 0)
		return -1;
	log_set_fd(b->std_fd[2]);
	grants_read(b);
	if (script_copy(b, err) < 0 || script_environment(b, err) < 0)
		return -1;
	return start_loop(b, minder_group, err);
}

/* The spool folder goes with the job, but where a sibling, a next run or the records still need it. */
static void remove_spool(struct batch *b)
{
	struct stat spool, records;

	if (b->end == END_KILLED || b->end == END_REQUEUED || b->job.array_count)
		return;
	if (b->record_fd >= 0 && fstat(b->spool.fd, &spool) == 0 && fstat(b->record_fd, &records) == 0 &&
	    spool.st_dev == records.st_dev && spool.st_ino == records.st_ino) {
		unlinkat(b->spool.fd, "env", 0);
		unlinkat(b->spool.fd, "script", 0);
		unlinkat(b->spool.fd, "args", 0);
		return;
	}
	spool_remove(&b->spool, NULL);
}

static void release(struct batch *b)
{
	if (b->steps)
		steps_free(b->steps);
	if (b->own_job_dir && b->job_dir)
		path_remove_treeat(AT_FDCWD, b->job_dir);
	for (int i = 0; i < 3; i++)
		cleanup_closep(&b->std_fd[i]);
	cleanup_closep(&b->job_fd);
	cleanup_closep(&b->record_fd);
	free(b->job_dir);
	free(b->libexec);
	free(b->work_dir);
	free(b->script);
	free(b->spared);
	loop_abandon(&b->loop);
	env_release(&b->env);
	env_release(&b->engine);
	alloc_release(&b->alloc);
	jobspec_release(&b->job);
	spool_release(&b->spool);
}

/* Says where the user will see it that his job didn't start. */
static int fail(struct batch *b, bool launch, const struct error *err)
{
	cleanup_fd int fd = b->std_fd[1] < 0 ? output_open_last_resort(&b->engine) : -1;

	if (b->std_fd[1] >= 0)
		log_set_fd(b->std_fd[1]);
	else if (fd >= 0)
		log_set_fd(fd);
	log_error("%s", err->text);
	log_set_fd(STDERR_FILENO);
	if (launch)
		write_end(b, "FAILED", 0, LAUNCH_FAILURE_SIGNAL, "JobLaunchFailure");
	if (launch)
		depend_tell(b, false);
	canary_stop(&b->canary, &b->loop);
	return 1;
}

/*
 * What the job waited for can't come, or didn't in its life, or came too late. Not 0, for who looks at the engine's
 * accounting.
 */
static int end_unstarted(struct batch *b)
{
	if (b->end == END_NEVER)
		write_end(b, "CANCELLED", 0, 0, "DependencyNeverSatisfied");
	else if (b->end == END_DEADLINE)
		write_end(b, "DEADLINE", 0, 0, "DeadLine");
	else
		write_end(b, "KILLED_BY_ENGINE", 0, SIGKILL, NULL);
	depend_tell(b, false);
	remove_spool(b);
	return 1;
}

static int run(struct batch *b, const char *spool_dir, pid_t minder_group)
{
	struct error err = ERROR_INIT;
	bool launch = false;

	if (prepare(b, spool_dir, minder_group, &launch, &err) < 0)
		return b->end != END_NONE ? end_unstarted(b) : fail(b, launch, &err);
	start_steps(b);
	if (script_start(b, on_script_end, &err) < 0)
		return fail(b, true, &err);
	limits_start(b);
	b->started = loop_now();
	write_start(b);
	depend_tell(b, true);
	spool_link_job(&b->spool, b->alloc.engine_id, NULL);
	if (loop_run(&b->loop, &err) < 0)
		log_error("%s", err.text);
	if (b->end != END_KILLED) {
		write_script_end(b);
		/* one that starts again hasn't ended for those that wait for it */
		if (b->end != END_REQUEUED)
			depend_tell(b, false);
	}
	canary_stop(&b->canary, &b->loop);
	tree_kill(NULL, 0);
	remove_spool(b);
	return b->end == END_REQUEUED ? requeue_exit(b) : spawn_exit_code(b->status);
}

int batch_main(int argc, char **argv)
{
	struct batch b = { .spool = SPOOL_INIT,
			   .job_fd = -1,
			   .record_fd = -1,
			   .std_fd = { -1, -1, -1 },
			   .script_pid = -1,
			   .canary = { .pid = -1 },
			   .loop = { .epoll_fd = -1, .signal_fd = -1 } };
	pid_t minder_group = getpgid(getppid());
	int code;

	if (argc != 2) {
		log_error("usage: shim-launch batch SPOOLDIR; it is started by sbatch, not by hand");
		return 1;
	}
	jobspec_init(&b.job);
	env_add_all(&b.engine, environ);
	getrlimit(RLIMIT_NOFILE, &b.files);
	/* out of the minder's group, which the engine kills; in its session, as everything of the job */
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	code = run(&b, argv[1], minder_group);
	release(&b);
	return code;
}

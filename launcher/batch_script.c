/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fd.h"
#include "common/log.h"
#include "common/login_env.h"
#include "common/mem.h"
#include "common/path.h"
#include "launcher/batch.h"
#include "launcher/jobenv.h"
#include "launcher/minded.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define SCRIPT "slurm_script" /* $0 under Slurm ends in this name, too */
#define SCRIPT_MAX (256u << 20)
#define ENV_MAX (64u << 20)

/* What the engine says of the job and its host wins over what the user exported on the submit host. */
static bool is_engine_own(const char *variable)
{
	static const char *const names[] = {
		"ARC=",
		"ENVIRONMENT=",
		"HOSTNAME=",
		"JOB_ID=",
		"JOB_NAME=",
		"JOB_SCRIPT=",
		"NHOSTS=",
		"NQUEUES=",
		"NSLOTS=",
		"PE=",
		"PE_HOSTFILE=",
		"QUEUE=",
		"REQNAME=",
		"REQUEST=",
		"RESTARTED=",
		"TMP=",
		"TMPDIR=",
		/* devices, where the site hides those of others */
		"CUDA_VISIBLE_DEVICES=",
		"ROCR_VISIBLE_DEVICES=",
		"HIP_VISIBLE_DEVICES=",
		"GPU_DEVICE_ORDINAL=",
		"ZE_AFFINITY_MASK=",
		"NVIDIA_VISIBLE_DEVICES=",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	return !strncmp(variable, "SGE_", 4);
}

/* What the execution daemon or the stub's shell happened to have, and a Slurm job doesn't inherit. */
static bool is_accident(const char *variable)
{
	static const char *const names[] = { "OLDPWD=", "PWD=",  "SHLVL=",    "_=",
					     "TERM=",   "LANG=", "LANGUAGE=", "LD_PRELOAD=" };
	static const char *const prefixes[] = { "LC_", "SLURM_", "SOO_" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* The variables of src that is says yes to (say no: those it says no to). */
static void take_if(struct env *e, const struct env *src, bool (*is)(const char *), bool yes)
{
	struct env some = ENV_INIT;

	for (size_t i = 0; i < src->vars.n; i++)
		if (is(src->vars.v[i]) == yes)
			argvec_push(&some.vars, src->vars.v[i]);
	env_merge(e, &some);
	env_release(&some);
}

/* Slurm's own patience. */
#define LOGIN_TIMEOUT 120

/* --export=NONE, a list of names, --get-user-env. 0 without it, too; -1: the job was ended meanwhile. */
static int add_login_environment(struct batch *b)
{
	cleanup_env struct env login = ENV_INIT;
	struct error err = ERROR_INIT;
	pid_t minder = getppid();

	if (login_environment(&login, &b->engine, LOGIN_TIMEOUT, &err) < 0)
		log_error("Failed to load the login environment: %s; the job starts without it", err.text);
	env_merge(&b->env, &login);
	if (getppid() == minder)
		return 0;
	b->end = END_KILLED;
	return -1;
}

int script_environment(struct batch *b, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	cleanup_env struct env user = ENV_INIT;
	cleanup_env struct env slurm = ENV_INIT;

	if (fd_read_file(b->spool.fd, "env", ENV_MAX, &text, err) < 0 ||
	    env_unpack(&user, text.buf, text.len, err) < 0)
		return error_wrap(err, "%s", b->spool.dir);
	take_if(&b->env, &b->engine, is_accident, false);
	if (b->job.get_user_env && add_login_environment(b) < 0)
		return -1;
	env_merge(&b->env, &user);
	take_if(&b->env, &b->engine, is_engine_own, true);
	jobenv_fill(&slurm, &b->alloc, &b->job);
	env_merge(&b->env, &slurm);
	env_set(&b->env, "SOO_JOB_DIR", b->job_dir);
	jobenv_reach(&b->env, b->libexec);
	if (b->job.launch.container_runtimes)
		env_set(&b->env, "SOO_CONTAINER_RUNTIMES", b->job.launch.container_runtimes);
	return 0;
}

int script_copy(struct batch *b, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (fd_read_file(b->spool.fd, "script", SCRIPT_MAX, &text, err) < 0)
		return error_wrap(err, "%s", b->spool.dir);
	/* a run of this job may have been here before */
	unlinkat(b->job_fd, SCRIPT, 0);
	if (path_write_newat(b->job_fd, SCRIPT, 0700, text.buf, text.len, false, err) < 0)
		return error_wrap(err, "%s", b->job_dir);
	b->script = path_join(b->job_dir, SCRIPT);
	return 0;
}

/*
 * Where TMPDIR is mounted noexec the kernel doesn't look at the "#!" line: then interpreter, its one argument and the
 * script, as it would have been. Empty: no such line.
 */
static void interpreter_argv(const struct batch *b, const struct argvec *argv, struct argvec *out)
{
	char line[256] = "";
	cleanup_fd int fd = openat(b->job_fd, SCRIPT, O_RDONLY | O_CLOEXEC);
	char *word, *rest, *end;

	if (fd < 0 || fd_read_full(fd, line, sizeof(line) - 1) < 3 || strncmp(line, "#!", 2))
		return;
	line[strcspn(line, "\n")] = '\0';
	word = line + 2 + strspn(line + 2, " \t");
	rest = word + strcspn(word, " \t");
	if (*rest)
		*rest++ = '\0';
	rest += strspn(rest, " \t");
	for (end = rest + strlen(rest); end > rest && strchr(" \t", end[-1]); end--)
		end[-1] = '\0';
	if (!*word)
		return;
	argvec_push(out, word);
	if (*rest)
		argvec_push(out, rest);
	for (size_t i = 0; i < argv->n; i++)
		argvec_push(out, argv->v[i]);
}

static int script_argv(const struct batch *b, struct argvec *argv, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	argvec_push(argv, b->script);
	if (fd_read_file(b->spool.fd, "args", ENV_MAX, &text, err) < 0)
		return error_wrap(err, "%s", b->spool.dir);
	for (size_t i = 0; i < text.len; i += strlen(text.buf + i) + 1)
		argvec_push(argv, text.buf + i);
	return 0;
}

/* In the child: what the script inherits is what a job of the engine inherits, and no trace of ours. */
static void NORETURN run_script(struct batch *b, const struct argvec *argv, const struct argvec *by_hand)
{
	static char pid[48];
	int code;

	setpgid(0, 0);
	/* not left to the parent: the script may kill it before it gets a turn */
	minded_tell(getpid());
	snprintf(pid, sizeof(pid), "SLURM_TASK_PID=%ld", (long)getpid());
	for (size_t i = 0; i < b->env.vars.n; i++)
		if (!strncmp(b->env.vars.v[i], pid, strlen("SLURM_TASK_PID=")))
			b->env.vars.v[i] = pid;
	signal(SIGPIPE, SIG_DFL);
	setrlimit(RLIMIT_NOFILE, &b->files);
	umask((mode_t)b->job.umask);
	for (int i = 0; i < 3; i++)
		if (dup2(b->std_fd[i], i) < 0)
			_exit(1);
	sigprocmask(SIG_SETMASK, &b->loop.original_mask, NULL);
	execve(b->script, argv->v, b->env.vars.v);
	code = errno;
	if (code == EACCES && by_hand->n) {
		execve(by_hand->v[0], by_hand->v, b->env.vars.v);
		code = errno;
	}
	errno = code;
	log_error("execve(): %s: %s", b->script, strerror(code));
	_exit(code);
}

/* Slurm goes to /tmp, says so twice, and runs the script. */
static void enter_work_dir(struct batch *b)
{
	const char *dir = b->job.work_dir ? b->job.work_dir : "/tmp";

	if (chdir(dir) == 0) {
		b->work_dir = xstrdup(dir);
		return;
	}
	for (int i = 0; i < 2; i++)
		log_error("couldn't chdir to `%s': %s: going to /tmp instead", dir, strerror(errno));
	b->work_dir = xstrdup(chdir("/tmp") == 0 ? "/tmp" : "/");
}

int script_start(struct batch *b, loop_child_fn on_end, struct error *err)
{
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_argvec struct argvec by_hand = ARGVEC_INIT;

	if (script_argv(b, &argv, err) < 0)
		return -1;
	interpreter_argv(b, &argv, &by_hand);
	enter_work_dir(b);
	b->script_pid = fork();
	if (b->script_pid < 0)
		return error_errno(err, "cannot fork the script");
	if (b->script_pid == 0)
		run_script(b, &argv, &by_hand);
	setpgid(b->script_pid, b->script_pid);
	loop_child_add(&b->loop, &b->script_child, b->script_pid, on_end, b);
	return 0;
}

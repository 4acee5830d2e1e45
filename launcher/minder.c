/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minder PROGRAM ARG...: the process that the engine sees as its child, above the supervisor and above each agent.
 * It starts PROGRAM and ends with its exit code, but
 *  - 99 and 100, which mean "reschedule" and "error state" to the engine, become 1; a 99 that PROGRAM has announced
 *    stays: scontrol requeue;
 *  - a death by a signal becomes 128 + signal: a task that dies by a signal makes the engine kill the whole job;
 *  - PROGRAM's own death is not the job's: when the script that it started still lives, the minder inherits it (it is
 *    a subreaper), waits for it and ends with the script's code. "PROGRAM guard PID" then follows the engine's signals
 *    in the place of the dead, and ends what is left over.
 * It stays in the process group that the engine gave it and signals. No heap, no sockets, nothing that could fail late.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Through this pipe PROGRAM names its script: the pid as an int; -1 announces a 99. The variable holds our end's number. */
#define PIPE_VARIABLE "SOO_MINDER_FD"
/* What the guard may take to end everything; past it we end without it. */
#define GUARD_SECONDS 10

static volatile pid_t program;

static void on_term(int signo)
{
	/* a terminate_method of the site's: the supervisor cancels the job as scancel does */
	if (program > 0)
		kill(program, signo);
}

static void on_alarm(int signo)
{
	(void)signo; /* only interrupts waitpid */
}

static void say(const char *a, const char *b, const char *c)
{
	static const char name[] = "slurm-on-ocs: error: ";

	if (write(2, name, sizeof(name) - 1) < 0 || write(2, a, strlen(a)) < 0 ||
	    write(2, b, strlen(b)) < 0 || write(2, c, strlen(c)) < 0 || write(2, "\n", 1) < 0) {
		/* nobody left to tell */
	}
}

/* "NAME=number" without stdio. */
static void print_number(char *out, const char *name, unsigned number)
{
	char digits[16];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	out = stpcpy(out, name);
	while (n)
		*out++ = digits[--n];
	*out = '\0';
}

static _Noreturn void run(char **argv, int fd, const sigset_t *mask)
{
	char variable[sizeof(PIPE_VARIABLE) + 16];
	size_t n = 0, k = 0;
	char **envp;

	while (environ[n])
		n++;
	envp = __builtin_alloca((n + 2) * sizeof(*envp));
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], PIPE_VARIABLE "=", sizeof(PIPE_VARIABLE)))
			envp[k++] = environ[i];
	if (fd >= 0) {
		print_number(variable, PIPE_VARIABLE "=", (unsigned)fd);
		envp[k++] = variable;
	}
	envp[k] = NULL;
	sigprocmask(SIG_SETMASK, mask, NULL);
	execve(argv[0], argv, envp);
	say(argv[0], ": ", strerrordesc_np(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static int code_of(int status, bool requeue)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	if (code == 99 && requeue)
		return code;
	return code == 99 || code == 100 ? 1 : code;
}

/* The status of child pid, reaping whatever else ends meanwhile (we inherit all orphans). -1: not our child. */
static int wait_for(pid_t pid, int *status)
{
	for (;;) {
		int st;
		pid_t ended = waitpid(-1, &st, 0);

		if (ended == pid) {
			*status = st;
			return 0;
		}
		if (ended < 0 && errno != EINTR)
			return -1;
	}
}

/* It starts with SIGTERM blocked: our word to end everything may come before it listens, and must not be lost. */
static pid_t start_guard(char *path, pid_t script)
{
	static char role[] = "guard";
	char number[16];
	char *argv[] = { path, role, number, NULL };
	sigset_t term, mask;
	pid_t pid;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &mask);
	pid = fork();
	if (pid == 0) {
		print_number(number, "", script > 0 ? (unsigned)script : 0);
		sigaddset(&mask, SIGTERM);
		run(argv, -1, &mask);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return pid;
}

/* The guard kills all that is left below us and ends. */
static void end_guard(pid_t guard)
{
	int status;

	if (guard < 0)
		return;
	kill(guard, SIGTERM);
	alarm(GUARD_SECONDS);
	for (;;) {
		pid_t ended = waitpid(-1, &status, 0);

		if (ended == guard)
			break;
		if (ended < 0) {
			kill(guard, SIGKILL);
			break;
		}
	}
	alarm(0);
}

/* What PROGRAM told us: pid of its script (0: none), and whether its 99 is meant. */
static pid_t read_words(int fd, bool *requeue)
{
	pid_t script = 0;
	int word;

	while (read(fd, &word, sizeof(word)) == sizeof(word)) {
		if (word < 0)
			*requeue = true;
		else
			script = (pid_t)word;
	}
	return script;
}

/* PROGRAM is dead; does its script live, or wait to be reaped? Then that's now our child. */
static bool inherited(pid_t script)
{
	siginfo_t info;

	return script > 0 && waitid(P_PID, (id_t)script, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void set_signals(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXCPU, SIGXFSZ };
	struct sigaction sa = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &sa, NULL);
	sa.sa_handler = on_term;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGTERM, &sa, NULL);
	sa.sa_handler = on_alarm;
	sa.sa_flags = 0;
	sigaction(SIGALRM, &sa, NULL);
}

int main(int argc, char **argv)
{
	int pipe_fds[2] = { -1, -1 };
	sigset_t all, mask;
	pid_t script, guard = -1;
	bool requeue = false;
	int status = 0, code;

	if (argc < 2) {
		say("usage: minder PROGRAM ARG...", "", "");
		return 1;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) == 0)
		fcntl(pipe_fds[1], F_SETFD, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	program = fork();
	if (program == 0)
		run(argv + 1, pipe_fds[1], &mask);
	if (program < 0) {
		say("fork: ", strerrordesc_np(errno), "");
		return 1;
	}
	close(pipe_fds[1]);
	set_signals();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	wait_for(program, &status);
	program = 0;
	script = read_words(pipe_fds[0], &requeue);
	code = code_of(status, requeue);
	if (inherited(script)) {
		guard = start_guard(argv[1], script);
		if (wait_for(script, &status) == 0)
			code = code_of(status, false);
		kill(-script, SIGKILL);
	} else if (WIFSIGNALED(status)) {
		guard = start_guard(argv[1], 0);
	}
	end_guard(guard);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/canary.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The child: no descriptors (it would keep pipes open), no handlers, nothing but waiting. Async-signal-safe only. */
static void NORETURN sit(pid_t supervisor)
{
	/* warnings of the engine (-notify, s_rt) and a terminate_method reach the minder too: not for us to die of */
	static const int ignored[] = { SIGUSR1, SIGUSR2, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU };
	sigset_t none;

	/* should the supervisor die, nobody needs a canary */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "canary");
	if (getppid() != supervisor)
		_exit(0);
	if (close_range(0, ~0U, 0) < 0) /* Linux before 5.9 */
		for (int fd = 0; fd < 1024; fd++)
			close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (;;)
		pause();
}

static void on_change(void *arg, pid_t pid, int status, const struct rusage *ru)
{
	struct canary *c = arg;

	(void)pid;
	(void)ru;
	if (WIFSTOPPED(status)) {
		c->fn(c->arg, CANARY_STOPPED);
	} else if (WIFCONTINUED(status)) {
		c->fn(c->arg, CANARY_CONTINUED);
	} else {
		c->pid = -1;
		c->fn(c->arg, CANARY_KILLED);
	}
}

int canary_start(struct canary *c, struct loop *l, pid_t pgid, canary_fn fn, void *arg, struct error *err)
{
	pid_t self = getpid();

	*c = (struct canary){ .pid = -1, .fn = fn, .arg = arg };
	c->pid = fork();
	if (c->pid < 0)
		return error_errno(err, "cannot fork the canary");
	if (c->pid == 0) {
		if (setpgid(0, pgid) < 0)
			_exit(1);
		sit(self);
	}
	/* by both, so that it is there for whoever looks first */
	if (setpgid(c->pid, pgid) < 0 && errno != EACCES) {
		int saved = errno;

		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
		c->pid = -1;
		errno = saved;
		return error_errno(err, "cannot put the canary into process group %ld", (long)pgid);
	}
	loop_child_add(l, &c->child, c->pid, on_change, c);
	return 0;
}

void canary_stop(struct canary *c, struct loop *l)
{
	if (c->pid < 0)
		return;
	loop_child_remove(l, &c->child);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	c->pid = -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/loop.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

struct stage {
	struct loop loop;
	struct loop_timer timers[3];
	struct loop_child child;
	int fds[2];
	char log[64];
};

static void note(struct stage *s, char c)
{
	size_t n = strlen(s->log);

	cr_assert(n < sizeof(s->log) - 1);
	s->log[n] = c;
}

static void on_signal(void *arg, int signo, pid_t sender)
{
	cr_expect_eq(sender, getpid());
	note(arg, signo == SIGUSR1 ? '1' : '?');
}

static void set_stage(struct stage *s)
{
	struct error err = ERROR_INIT;
	sigset_t mask;

	memset(s, 0, sizeof(*s));
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	cr_assert(loop_init(&s->loop, &mask, on_signal, s, &err) == 0, "%s", err.text);
	cr_assert(pipe2(s->fds, O_CLOEXEC | O_NONBLOCK) == 0);
}

static void run(struct stage *s)
{
	struct error err = ERROR_INIT;

	cr_expect(loop_run(&s->loop, &err) == 0, "%s", err.text);
	loop_release(&s->loop);
	close(s->fds[0]);
	close(s->fds[1]);
}

static void note_a(void *arg)
{
	note(arg, 'a');
}

static void note_b(void *arg)
{
	struct stage *s = arg;

	note(s, 'b');
	loop_timer_cancel(&s->loop, &s->timers[0]);
}

static void end(void *arg)
{
	struct stage *s = arg;

	note(s, '.');
	loop_stop(&s->loop);
}

Test(loop, timers_fire_in_order, .timeout = 20)
{
	struct stage s;

	set_stage(&s);
	loop_timer_set(&s.loop, &s.timers[2], 60, end, &s);
	loop_timer_set(&s.loop, &s.timers[0], 20, note_a, &s);
	loop_timer_set(&s.loop, &s.timers[1], 10, note_b, &s); /* cancels a */
	run(&s);
	cr_expect_str_eq(s.log, "b.");
}

Test(loop, timer_is_set_anew, .timeout = 20)
{
	struct stage s;

	set_stage(&s);
	loop_timer_set(&s.loop, &s.timers[0], 1, note_a, &s);
	loop_timer_set(&s.loop, &s.timers[0], 40, note_a, &s);
	loop_timer_set(&s.loop, &s.timers[2], 20, end, &s);
	run(&s);
	cr_expect_str_eq(s.log, ".");
}

static void on_readable(void *arg, uint32_t events)
{
	struct stage *s = arg;
	char c = '?';

	if (read(s->fds[0], &c, 1) == 1)
		note(s, c);
	if (events & EPOLLHUP)
		note(s, 'h');
	if (c == 'x') {
		/* itself, within its own callback; a removed one is never called again */
		loop_fd_remove(&s->loop, s->fds[0]);
		loop_fd_remove(&s->loop, s->fds[0]);
		loop_timer_set(&s->loop, &s->timers[0], 20, end, s);
	}
}

Test(loop, descriptors, .timeout = 20)
{
	struct stage s;

	set_stage(&s);
	cr_assert(loop_fd_add(&s.loop, s.fds[0], EPOLLIN, on_readable, &s, NULL) == 0);
	cr_assert(write(s.fds[1], "pqxyz", 5) == 5);
	run(&s);
	cr_expect_str_eq(s.log, "pqx.");
}

Test(loop, many_descriptors, .timeout = 20)
{
	struct stage s;
	int copies[200];

	set_stage(&s);
	for (size_t i = 0; i < 200; i++) {
		copies[i] = dup(s.fds[0]);
		cr_assert(loop_fd_add(&s.loop, copies[i], EPOLLIN, on_readable, &s, NULL) == 0);
	}
	cr_expect(loop_fd_add(&s.loop, copies[7], EPOLLIN, on_readable, &s, NULL) == -1);
	for (size_t i = 0; i < 200; i++) {
		loop_fd_remove(&s.loop, copies[i]);
		close(copies[i]);
	}
	loop_fd_remove(&s.loop, 5000);
	loop_timer_set(&s.loop, &s.timers[0], 1, end, &s);
	run(&s);
	cr_expect_str_eq(s.log, ".");
}

static void on_child(void *arg, pid_t pid, int status, const struct rusage *ru)
{
	struct stage *s = arg;

	cr_expect(pid == s->child.pid && ru);
	if (WIFSTOPPED(status)) {
		note(s, 'S');
		kill(pid, SIGCONT);
	} else if (WIFCONTINUED(status)) {
		note(s, 'C');
		kill(pid, SIGKILL);
	} else {
		note(s, WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 'K' : '?');
		loop_timer_set(&s->loop, &s->timers[0], 20, end, s);
	}
}

Test(loop, children_and_signals, .timeout = 20)
{
	struct stage s;
	pid_t pid;

	set_stage(&s);
	kill(getpid(), SIGUSR1);
	pid = fork();
	if (pid == 0) {
		loop_abandon(&s.loop);
		kill(getpid(), SIGSTOP);
		for (;;)
			pause();
	}
	loop_child_add(&s.loop, &s.child, pid, on_child, &s);
	run(&s);
	cr_expect_str_eq(s.log, "1SCK.");
}

static void on_orphan(void *arg, pid_t pid, int status, const struct rusage *ru)
{
	(void)pid;
	(void)ru;
	note(arg, WIFEXITED(status) && WEXITSTATUS(status) == 9 ? 'o' : '?');
	end(arg);
}

Test(loop, children_that_nobody_watches, .timeout = 20)
{
	struct stage s;

	set_stage(&s);
	s.loop.orphan_fn = on_orphan;
	s.loop.orphan_arg = &s;
	if (fork() == 0)
		_exit(9);
	run(&s);
	cr_expect_str_eq(s.log, "o.");
}

/* Stopped for longer than a timer: on waking the news comes first, for it may be why the timer is overdue. */
Test(loop, news_before_overdue_timers, .timeout = 20)
{
	struct stage s;
	pid_t self = getpid();

	set_stage(&s);
	if (fork() == 0) {
		usleep(30000);
		kill(self, SIGSTOP);
		usleep(150000);
		if (write(s.fds[1], "n", 1) != 1)
			_exit(1);
		kill(self, SIGCONT);
		_exit(0);
	}
	cr_assert(loop_fd_add(&s.loop, s.fds[0], EPOLLIN, on_readable, &s, NULL) == 0);
	loop_timer_set(&s.loop, &s.timers[0], 100, end, &s);
	run(&s);
	cr_expect_str_eq(s.log, "n.");
}

Test(loop, gives_the_mask_back, .timeout = 20)
{
	struct stage s;
	sigset_t now;

	set_stage(&s);
	sigprocmask(SIG_BLOCK, NULL, &now);
	cr_expect(sigismember(&now, SIGUSR1) && sigismember(&now, SIGCHLD));
	loop_release(&s.loop);
	sigprocmask(SIG_BLOCK, NULL, &now);
	cr_expect(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGCHLD));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/canary.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the engine does to the group, one thing after each event. */
struct stage {
	struct loop loop;
	struct canary canary;
	struct loop_timer timer;
	pid_t minder;
	char seen[16];
};

static void on_event(void *arg, enum canary_event event)
{
	struct stage *s = arg;

	s->seen[strlen(s->seen)] = event == CANARY_STOPPED ? 'S' : event == CANARY_CONTINUED ? 'C' : 'K';
	if (event == CANARY_STOPPED)
		kill(-s->minder, SIGCONT);
	else if (event == CANARY_CONTINUED)
		kill(-s->minder, SIGKILL);
	else
		loop_stop(&s->loop);
}

static void begin(void *arg)
{
	struct stage *s = arg;

	/* the engine's warnings are none of its business */
	kill(-s->minder, SIGUSR1);
	kill(-s->minder, SIGUSR2);
	kill(-s->minder, SIGTERM);
	kill(-s->minder, SIGSTOP);
}

static void set_stage(struct stage *s)
{
	struct error err = ERROR_INIT;
	sigset_t none;

	memset(s, 0, sizeof(*s));
	s->minder = fork();
	if (s->minder == 0) {
		setpgid(0, 0);
		signal(SIGUSR1, SIG_IGN);
		signal(SIGUSR2, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	setpgid(s->minder, s->minder);
	sigemptyset(&none);
	cr_assert(loop_init(&s->loop, &none, NULL, NULL, &err) == 0, "%s", err.text);
	cr_assert(canary_start(&s->canary, &s->loop, s->minder, on_event, s, &err) == 0, "%s", err.text);
}

Test(canary, tells_what_happens_to_the_group, .timeout = 20)
{
	struct stage s;

	set_stage(&s);
	cr_expect_eq(getpgid(s.canary.pid), s.minder);
	loop_timer_set(&s.loop, &s.timer, 50, begin, &s);
	cr_assert(loop_run(&s.loop, NULL) == 0);
	cr_expect_str_eq(s.seen, "SCK");
	loop_release(&s.loop);
}

static void stop(void *arg)
{
	struct stage *s = arg;

	loop_stop(&s->loop);
}

Test(canary, ends_quietly, .timeout = 20)
{
	struct stage s;
	pid_t pid;

	set_stage(&s);
	pid = s.canary.pid;
	canary_stop(&s.canary, &s.loop);
	cr_expect(kill(pid, 0) < 0);
	loop_timer_set(&s.loop, &s.timer, 50, stop, &s);
	cr_assert(loop_run(&s.loop, NULL) == 0);
	cr_expect_str_eq(s.seen, "");
	kill(s.minder, SIGKILL);
	loop_release(&s.loop);
}

Test(canary, refuses_a_group_that_is_not_there, .timeout = 20)
{
	struct stage s;
	struct error err = ERROR_INIT;
	struct canary other;

	set_stage(&s);
	cr_expect(canary_start(&other, &s.loop, 4194000, on_event, &s, &err) == -1);
	cr_expect(strstr(err.text, "canary"), "%s", err.text);
	kill(-s.minder, SIGKILL);
	loop_release(&s.loop);
}

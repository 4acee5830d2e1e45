/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `shim-launch guard PID`: started by the minder when the supervisor or an agent has died by a bug. The minder then is
 * the parent of all that is left; the guard, its child, does for it what it can't: it follows the engine's STOP,
 * CONT and KILL (it has a canary of its own) and ends what is left over at the minder's SIGTERM. PID is the script's,
 * or 0 when nothing is to go on.
 */
#include "common/log.h"
#include "launcher/canary.h"
#include "launcher/steps.h"
#include "launcher/tree.h"

#include <string.h>

/* How often the tree is looked at, so that we still know its daemons once the minder is gone and can't name them. */
#define LOOK_MS 1000

struct guard {
	struct loop loop;
	struct canary canary;
	struct loop_timer look;
	pid_t minder, script;
	struct tree_list seen;
};

static size_t ourselves(const struct guard *g, pid_t spare[2])
{
	spare[0] = getpid();
	spare[1] = g->canary.pid;
	return g->canary.pid > 0 ? 2 : 1;
}

/* The minder died with its group: what was below it is init's now. */
static void kill_orphans(struct guard *g)
{
	if (g->script > 0) {
		kill(-g->script, SIGKILL);
		tree_signal_below(g->script, SIGKILL);
	}
	tree_list_kill(&g->seen);
	loop_stop(&g->loop);
}

static void on_canary(void *arg, enum canary_event event)
{
	struct guard *g = arg;
	pid_t spare[2];
	size_t n = ourselves(g, spare);

	switch (event) {
	case CANARY_STOPPED:
		tree_signal_under(g->minder, SIGSTOP, spare, n);
		break;
	case CANARY_CONTINUED:
		tree_signal_under(g->minder, SIGCONT, spare, n);
		break;
	case CANARY_KILLED:
		kill_orphans(g);
		break;
	}
}

static void on_look(void *arg)
{
	struct guard *g = arg;
	pid_t spare[2];
	size_t n = ourselves(g, spare);

	tree_list_take(&g->seen, g->minder, spare, n);
	loop_timer_set(&g->loop, &g->look, LOOK_MS, on_look, g);
}

static void on_signal(void *arg, int signo, pid_t sender)
{
	struct guard *g = arg;
	pid_t spare[2];
	size_t n = ourselves(g, spare);

	(void)signo;
	(void)sender;
	tree_kill_under(g->minder, spare, n);
	loop_stop(&g->loop);
}

int guard_main(int argc, char **argv)
{
	struct guard g = { .minder = getppid(), .canary = { .pid = -1 } };
	struct error err = ERROR_INIT;
	sigset_t mask;

	if (argc != 2)
		return 1;
	g.script = (pid_t)strtol(argv[1], NULL, 10);
	setpgid(0, 0);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	if (loop_init(&g.loop, &mask, on_signal, &g, &err) < 0 ||
	    canary_start(&g.canary, &g.loop, getpgid(g.minder), on_canary, &g, &err) < 0) {
		log_error("guard: %s", err.text);
		return 1;
	}
	on_look(&g);
	if (loop_run(&g.loop, &err) < 0)
		log_error("guard: %s", err.text);
	canary_stop(&g.canary, &g.loop);
	tree_list_release(&g.seen);
	loop_release(&g.loop);
	return 0;
}

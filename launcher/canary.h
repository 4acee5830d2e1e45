/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canary: a child of ours that sits in the process group of the engine's own child (the minder), so that we learn
 * by waitpid what the engine does to that group: KILL, STOP, CONT. Without it a qdel on a default cell leaves the
 * user's processes running and a suspend does nothing, because the engine signals only that group.
 */
#ifndef SOC_LAUNCHER_CANARY_H
#define SOC_LAUNCHER_CANARY_H

#include "launcher/loop.h"

enum canary_event { CANARY_KILLED, CANARY_STOPPED, CANARY_CONTINUED };
typedef void (*canary_fn)(void *arg, enum canary_event event);

struct canary {
	struct loop_child child;
	pid_t pid;
	canary_fn fn;
	void *arg;
};

/* Forks the canary into process group pgid (the minder's) and watches it. */
int canary_start(struct canary *c, struct loop *l, pid_t pgid, canary_fn fn, void *arg, struct error *err);
/* Ends it quietly (no event). */
void canary_stop(struct canary *c, struct loop *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stepper: a step's process on one host, forked (no exec) by the supervisor or an agent. It dials srun, starts the
 * ranks, carries their input and output and ends them when srun is lost or its parent dies.
 *
 * The parent talks to it by single bytes on a socket: a signal number for every rank; STOP and CONT suspend the
 * step. EOF: the parent is gone, everything is killed at once.
 */
#ifndef SOC_LAUNCHER_STEPPER_H
#define SOC_LAUNCHER_STEPPER_H

#include "common/env.h"
#include "launcher/loop.h"
#include "launcher/proto.h"

struct stepper_child {
	struct loop_child child;
	pid_t pid;
	int life_fd; /* ours: write signal bytes, close to end it */
};

/* Forks it and watches it by fn. host_env: what belongs to this host (stepenv_host). */
int stepper_fork(struct stepper_child *c, struct loop *l, const struct stepper_start *start,
		 const struct env *host_env, loop_child_fn fn, void *arg, struct error *err);
/* Instead of a signal: srun is gone; a stepper that hasn't reached it yet gives up. */
#define STEPPER_ORPHANED 0
void stepper_signal(const struct stepper_child *c, int signo);
/* After its end. */
void stepper_close(struct stepper_child *c);

#endif

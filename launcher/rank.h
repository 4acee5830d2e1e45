/* SPDX-License-Identifier: Apache-2.0 */
/* Starts one rank. All that can fail or allocate is done before; the child makes only async-signal-safe calls. */
#ifndef SOC_LAUNCHER_RANK_H
#define SOC_LAUNCHER_RANK_H

#include "common/env.h"
#include "common/error.h"

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

struct rank_start {
	const char *path; /* rank_resolve() */
	char *const *argv;
	char *const *envp;
	int fds[3];
	mode_t umask;
	const uint64_t *limits; /* HOSTSPEC_LIMITS soft limits of srun, by RLIMIT_ number */
	const sigset_t *mask;   /* the signal mask that the program gets */
};

/* What the program of a name is by Slurm's rules, in the current folder. Caller frees. */
char *rank_resolve(const char *name, const struct env *env);
/*
 * Forks it in a process group of its own. *status_fd: read end of a close-on-exec pipe that gives an errno when the exec
 * failed (and the child then exits with that errno), and nothing when it went well. The pid, or -1 with err.
 */
pid_t rank_spawn(const struct rank_start *r, int *status_fd, struct error *err);

#endif

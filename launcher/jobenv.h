/* SPDX-License-Identifier: Apache-2.0 */
/* SLURM_* of the batch level (tests/golden/env): what the script sees, and what every step starts from. */
#ifndef SOC_LAUNCHER_JOBENV_H
#define SOC_LAUNCHER_JOBENV_H

#include "common/env.h"
#include "launcher/alloc.h"
#include "ocs/jobspec.h"

/* Everything of the job and of its batch step (host 0, task 0) into e; nothing is taken from getenv. SLURM_TASK_PID
 * is "0": only the process that becomes the task knows it. */
void jobenv_fill(struct env *e, const struct alloc *a, const struct jobspec *job);
/* Masks for the GPUs with these ids, under each name that a program may look for. Steps' ranks have them, too. */
void jobenv_gpu_masks(struct env *e, const char *ids);
/* PATH and LD_PRELOAD of ours, as docs/design/001-interfaces.md has them. libexec: the folder of our programs. */
void jobenv_reach(struct env *e, const char *libexec);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srun's file name patterns: %j %J %s %x %u %A %a of the step, %t %n %N of a rank or its host, %% and a width for numbers
 * ("%4t"). A backslash anywhere turns all of them off and is itself removed. Unknown letters stay.
 */
#ifndef SOC_LAUNCHER_FILENAME_H
#define SOC_LAUNCHER_FILENAME_H

#include "common/env.h"

#include <stdbool.h>
#include <stdint.h>

struct filename_step {
	uint64_t job_id;
	uint32_t step_id;
	const char *job_name, *user; /* NULL: the letter stays */
	const char *array_job, *array_task;
};

/* srun's half: the step's letters. Where the name differs by host or rank the others stay. Caller frees. */
char *filename_of_step(const char *pattern, const struct filename_step *s);
/* Does the name differ by host or rank, so that the file is opened there; by rank? */
bool filename_is_local(const char *pattern);
bool filename_is_per_rank(const char *pattern);
/* The stepper's half, of what filename_of_step() left. Caller frees. */
char *filename_of_rank(const char *pattern, const char *node, uint32_t node_index, uint32_t rank);

#endif

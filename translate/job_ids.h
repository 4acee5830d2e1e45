/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job ids as Slurm's commands take them: N, N_k, N_[a-b,c], N_*, N.step, several with commas between. An array
 * element has an id of its own, too: engine id x 100000 + its position (its task number on the engine).
 */
#ifndef SOC_TRANSLATE_JOB_IDS_H
#define SOC_TRANSLATE_JOB_IDS_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELEMENT_FACTOR 100000 /* over every engine's max_aj_tasks (75000) */

struct job_id {
	uint64_t id;
	bool has_index; /* one array element, by Slurm's index */
	uint32_t index;
	char *step; /* "0", "batch"; NULL: the job */
};

struct job_ids {
	struct job_id *v;
	size_t n;
};

#define JOB_IDS_INIT                                                                                         \
	{                                                                                                    \
		NULL, 0                                                                                      \
	}
#define cleanup_job_ids cleanup(job_ids_release)

void job_ids_release(struct job_ids *ids);
/* Appends the ids of text. -1 where Slurm says "Invalid job id": *bad is the word that is wrong (caller frees). */
int job_ids_parse(struct job_ids *ids, const char *text, char **bad);

#endif

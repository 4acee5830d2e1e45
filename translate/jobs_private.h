/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs.c and job_select.c share. */
#ifndef SOC_TRANSLATE_JOBS_PRIVATE_H
#define SOC_TRANSLATE_JOBS_PRIVATE_H

#include "translate/depend.h"
#include "translate/jobs.h"

struct user_entry;
struct live_entry;

struct jobs {
	const struct conf *conf;
	struct qstat q, held; /* held: those with a user hold */
	struct record_store *store;
	struct record_store *depend_store; /* of predecessors, read to the end; NULL: not needed yet */
	struct qstat everybody; /* where q holds some users' jobs only, and a predecessor is another's */
	struct job *rows;
	struct record_run **completed; /* runs whose end the engine's accounting told */
	size_t ncompleted;
	size_t n, alloc;
	struct user_entry *users;
	struct live_entry *live;
	char *queues; /* all of them, comma separated; NULL: not asked yet */
	time_t now;
	struct job_query query;
};

/* An empty row at the end; pointers to other rows are no longer good then. */
struct job *jobs_add_row(struct jobs *jobs);
void jobs_release_row(struct job *j);
/* State, reason and end of one that is over, from j->record and j->run. */
void jobs_set_end(struct job *j);
/* --- jobs_depend.c --- */
/* Fills j->dependency where the job has one. */
enum depend_verdict jobs_dependency(struct jobs *jobs, struct job *j);
void jobs_add_position(struct job *j, uint32_t position);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's list and our records say of a job that others wait for. */
#ifndef SOC_TRANSLATE_DEPEND_FACTS_H
#define SOC_TRANSLATE_DEPEND_FACTS_H

#include "ocs/qstat.h"
#include "ocs/recordread.h"
#include "translate/depend.h"

#include <sys/types.h>

/* All borrowed. */
struct depend_world {
	const struct qstat *engine; /* its jobs, the predecessors' at least */
	struct record_store *store; /* one of its own: it reads on in records that others may hold */
	int engine_timeout;

	/* the job that waits */
	uint64_t self; /* 0: not submitted yet */
	uid_t uid;
	const char *user, *name; /* name: the engine's; NULL: its singletons aren't looked at */
	bool has_index;          /* an element, of this index of Slurm's */
	uint32_t index;
	const uint64_t *alive; /* jobs that the engine had when it was submitted */
	size_t nalive;

	/* Nothing more will come: how a job without a record ended is asked of the engine's accounting, and is a
	 * failure when that doesn't know either. */
	bool final;
};

/* A depend_lookup_fn; arg is a struct depend_world. */
void depend_facts(const struct depend_term *t, struct depend_facts *f, void *arg);
/* An array element's own number becomes its array's, with the index. */
void depend_normalize(struct depend *d, struct depend_world *w);
/* The records of a job, whoever owns it; NULL: none. */
const struct record_job *depend_record(struct depend_world *w, uint64_t id);
/* Does the engine have (a part of) this job? */
bool depend_is_alive(const struct depend_world *w, uint64_t id);
/* Did all that `qacct -j` printed end well? 1 yes, 0 no, -1 it holds no job. */
int depend_read_accounting(const char *text);

#endif

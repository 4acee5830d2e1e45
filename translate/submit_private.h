/* SPDX-License-Identifier: Apache-2.0 */
/* What submit.c and submit_engine.c share: one attempt to submit a job, and how the engine is asked. */
#ifndef SOC_TRANSLATE_SUBMIT_PRIVATE_H
#define SOC_TRANSLATE_SUBMIT_PRIVATE_H

#include "ocs/engine.h"
#include "ocs/spool.h"
#include "translate/depend_submit.h"
#include "translate/place.h"
#include "translate/submit.h"

/* Everything between the request and the engine's answer. */
struct attempt {
	struct submission *s;
	struct place place;
	struct depend_submission depend;
	struct spool spool;
	char *root;            /* of the spool folders */
	char *cluster;         /* the cluster's below it */
	struct error refusal;  /* why there is no other PE; empty: that's not it */
	struct strbuf reasons; /* why no queue is suitable */
	bool asked, unverified;
	char *reservation; /* the engine's number; NULL: none */
	char *options;     /* path of the file with options for qsub */
	char *stub;        /* path */
	char *work_dir;
};

/* A time of the configuration; nothing is negative behind conf_load(). */
static inline uint32_t seconds(int v)
{
	return v > 0 ? (uint32_t)v : 0;
}

/*
 * Gives the job to qsub, or without a stub asks whether it could run. 0 when the engine answered: a->refusal and
 * a->unverified say what was found out on the way.
 */
int submit_ask(struct attempt *a, struct engine_answer *answer, struct error *err);
/* What Slurm says where the engine said no. Returns -1. */
int submit_explain(struct attempt *a, const struct engine_answer *answer, struct error *err);
/* submit_ask() for a job: 0 with the id; -1 refused; -2: qsub died or gave no id, so that there may be a job. */
int submit_spooled(struct attempt *a, uint64_t *job_id, struct error *err);

#endif

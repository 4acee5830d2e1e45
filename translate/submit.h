/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a finished request to a job of the engine: choose queue and PE, write the spool folder, run qsub, link and
 * record. The folder is complete before qsub runs, so that a death at any point leaves a whole job or none.
 */
#ifndef SOC_TRANSLATE_SUBMIT_H
#define SOC_TRANSLATE_SUBMIT_H

#include "common/argvec.h"
#include "common/env.h"
#include "conf/conf.h"
#include "translate/request.h"

struct submission {
	const struct conf *conf;
	const struct request *request;
	const char *script; /* the batch script's bytes */
	size_t script_len;
	const char *path;    /* of the script, for everybody's eyes; NULL: from stdin or --wrap */
	const char *command; /* the same with its arguments, for the owner's */
	const char *name;    /* of the job: --job-name, or the default */
	const char *cwd;
	struct argvec args; /* of the script */
	struct env env;     /* what the job starts from */
};

/* Job id, or -1 with what Slurm would print. Nothing is left behind then. */
int submit_job(struct submission *s, uint64_t *job_id, struct error *err);
/* --test-only: asks the engine alone; *answer is what Slurm says of a job that could run (caller frees). */
int submit_test(struct submission *s, char **answer, struct error *err);
/* Housekeeping in the spool folder, at most once an hour. */
void submit_sweep(const struct conf *conf);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* --dependency at the submission. */
#ifndef SOC_TRANSLATE_DEPEND_SUBMIT_H
#define SOC_TRANSLATE_DEPEND_SUBMIT_H

#include "translate/depend_job.h"
#include "translate/request.h"

struct depend_submission {
	struct depend_job job; /* job.list.n 0: it waits for nothing (any more) */
	struct depend_holds holds;
	struct depend_view view;
	bool settle; /* what it waits for may come before its predecessors' ends, or never */
};

void depend_submission_release(struct depend_submission *s);
/* name: of the job, as asked for. An engine that doesn't answer is an error. */
int depend_submission_prepare(struct depend_submission *s, const struct conf *conf, const struct request *r,
			      const char *name, struct error *err);
/* Writes "dependency" into the job's spool folder. */
int depend_submission_write(const struct depend_submission *s, int spool_fd, struct error *err);
/* The engine has taken the job. */
void depend_submission_finish(struct depend_submission *s, uint64_t id);

#endif

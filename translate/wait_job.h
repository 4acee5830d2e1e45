/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch --wait: until a job is over, by our records; the engine is asked now and then only. */
#ifndef SOC_TRANSLATE_WAIT_JOB_H
#define SOC_TRANSLATE_WAIT_JOB_H

#include "conf/conf.h"
#include "ocs/recordread.h"

#include <stdbool.h>

/*
 * sbatch's exit code for job id of this user: its script's, 1 where a signal ended it, 0 where it never ran; of an array
 * the highest. Returns when the job is over.
 */
int wait_for_job(const struct conf *conf, uint64_t id);

struct wait_result {
	bool over;
	bool unsure; /* the engine must say whether what has no end is over: it was killed, or cancelled */
	int code;    /* of what is over */
};

/* What j tells (NULL: nothing yet). gone: the engine has forgotten the job, so that nothing more will come. */
struct wait_result wait_look(const struct record_job *j, bool gone);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs the engine granted on each host: one `qstat -j` of the job. */
#include "common/log.h"
#include "launcher/batch.h"
#include "ocs/engine.h"

#include <inttypes.h>

enum {
	QSTAT_TIMEOUT = 30, /* s */
	TRIES = 3,
	PAUSE_US = 1000 * 1000,
};

void grants_read(struct batch *b)
{
	struct error err = ERROR_INIT;

	for (int i = 0; b->job.gpu_maps && i < TRIES; i++) {
		cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
		cleanup_argvec struct argvec argv = ARGVEC_INIT;

		if (i)
			usleep(PAUSE_US);
		argvec_pushl(&argv, "qstat", "-j", NULL);
		argvec_pushf(&argv, "%" PRIu64, b->alloc.engine_id);
		if (engine_ask(&argv, QSTAT_TIMEOUT, &answer, &err) < 0)
			continue;
		if (alloc_set_gpus(&b->alloc, &b->job, answer.out.buf) == 0)
			return;
		error_set(&err, ERR_ENGINE, "qstat -j names none");
	}
	if (b->job.gpu_maps)
		log_error("the job's GPUs are reserved, but not known: CUDA_VISIBLE_DEVICES isn't set: %s",
			  err.text);
}

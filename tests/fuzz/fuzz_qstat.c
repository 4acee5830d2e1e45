/* SPDX-License-Identifier: Apache-2.0 */
/* What qstat printed: a job list that can be believed, or an error; never a crash. */
#include "ocs/qstat.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_qstat struct qstat q = QSTAT_INIT;
	struct error err = ERROR_INIT;

	if (qstat_parse(&q, (const char *)data, size, &err) < 0) {
		if (!*err.text || q.n)
			abort();
		return 0;
	}
	for (size_t i = 0; i < q.n; i++) {
		const struct qstat_job *j = &q.jobs[i];
		uint32_t *tasks;
		size_t n;

		if (!j->id || !j->owner || !j->name || !j->state || !j->tasks ||
		    (j->nhosts && !j->hosts[0].is_master))
			abort();
		if (qstat_tasks(j->tasks, 1000, &tasks, &n, NULL) == 0)
			free(tasks);
	}
	return 0;
}

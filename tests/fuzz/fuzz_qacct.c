/* SPDX-License-Identifier: Apache-2.0 */
/* The text of qacct -j: every run that is kept is complete, and has a verdict. */
#include "common/mem.h"
#include "ocs/qacct.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xstrndup((const char *)data, size);
	cleanup_qacct struct qacct q = QACCT_INIT;

	qacct_parse(&q, text);
	for (size_t i = 0; i < q.n; i++) {
		const struct qacct_run *run = &q.v[i];

		if (!run->id || run->failed < 0 || run->exit_status < 0 || !(run->wallclock >= 0) ||
		    qacct_judge(run, 60) > QACCT_UNKNOWN)
			abort();
		if (!run->is_slave && !qacct_last_run(&q, run->id, run->task))
			abort();
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of our records, which any user can write into a file of his own. */
#include "ocs/recordread.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_job j = { .id = 7, .nodes = RECORD_UNSET };
	const char *p = (const char *)data, *end = p + size;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = newline ? (size_t)(newline - p) : (size_t)(end - p);

		record_parse_line(&j, p, n);
		p += n + 1;
	}
	for (size_t i = 0; i < j.nruns; i++)
		if (!record_last_run(&j, j.runs[i].task) || (i && j.runs[i].task < j.runs[i - 1].task))
			abort();
	for (uint32_t t = 1; t <= j.narray && t < 100; t++)
		if (record_array_task(&j, record_array_index(&j, t)) == 0)
			abort();
	record_job_release(&j);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any job file: refused, or it packs to a file that reads the same again. */
#include "ocs/jobspec.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_jobspec struct jobspec job = JOBSPEC_INIT, again = JOBSPEC_INIT;
	cleanup_strbuf struct strbuf packed = STRBUF_INIT, twice = STRBUF_INIT;

	if (jobspec_unpack(&job, data, size, NULL) < 0)
		return 0;
	jobspec_pack(&job, &packed);
	if (jobspec_unpack(&again, packed.buf, packed.len, NULL) < 0)
		abort();
	jobspec_pack(&again, &twice);
	if (packed.len != twice.len || memcmp(packed.buf, twice.buf, packed.len))
		abort();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a step request: refused, or a request with a command that packs to the same bytes. */
#include "ocs/stepspec.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stepspec s;
	struct strbuf out = STRBUF_INIT;

	if (stepspec_unpack(&s, data, size, NULL) == 0) {
		if (!s.argv.n || !s.cwd || !s.ntasks)
			abort();
		stepspec_pack(&s, &out);
		if (!out.len)
			abort();
	}
	stepspec_release(&s);
	strbuf_release(&out);
	return 0;
}

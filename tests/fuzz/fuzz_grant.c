/* SPDX-License-Identifier: Apache-2.0 */
/* The text of qstat -j and of qconf -sc: granted ids without a blank in them, complexes with all their words. */
#include "common/mem.h"
#include "ocs/complex.h"
#include "ocs/grant.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xstrndup((const char *)data, size);
	cleanup_complex_list struct complex_list l = COMPLEX_LIST_INIT;
	cleanup_strbuf struct strbuf ids = STRBUF_INIT;
	uint32_t n = grant_ids(text, 1, "gpu", "h", &ids);

	if (strpbrk(ids.buf, " \n)") || (n > 0) != (ids.len > 0) || n > ids.len)
		abort();
	if (complex_list_parse(&l, text, NULL) < 0) {
		if (l.n)
			abort();
		return 0;
	}
	for (size_t i = 0; i < l.n; i++)
		if (!complex_find(&l, l.v[i].name) ||
		    (complex_is_reserved(&l.v[i]) && strcmp(l.v[i].relop, "<=")))
			abort();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Times, sizes and counted lists from any text: whole minutes or nothing, and counts come back from their text. */
#include "common/counts.h"
#include "common/duration.h"
#include "common/mem.h"
#include "common/size.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int what)
{
	if (!what)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xstrndup((const char *)data, size);
	cleanup_free uint32_t *v = NULL;
	struct error err = ERROR_INIT;
	int64_t seconds;
	uint64_t mib;
	size_t n;

	if (duration_parse(text, &seconds, &err) == 0) {
		cleanup_free char *full = duration_format(seconds);
		cleanup_free char *brief = duration_format_short(seconds);
		int64_t again;

		must(seconds > 0 && (seconds == DURATION_INFINITE || seconds % 60 == 0));
		must(duration_parse(full, &again, NULL) == 0 && again == seconds);
		must(*brief != '\0');
	}
	size_parse_mib(text, &mib, &err);
	if (counts_parse(text, 1000, &v, &n, &err) == 0) {
		cleanup_free char *back = counts_format(v, n);
		cleanup_free uint32_t *w = NULL;
		size_t m;

		must(n <= 1000 && counts_parse(back, 1000, &w, &m, NULL) == 0 && m == n);
		must(n == 0 || !memcmp(v, w, n * sizeof(*v)));
	}
	return 0;
}

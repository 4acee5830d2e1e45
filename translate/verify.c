/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/verify.h"

#include "common/mem.h"

#include <string.h>

const char *verify_short_of(const struct resources *r, const char *reasons)
{
	const struct {
		const char *name, *words;
	} complexes[] = {
		{ r->memory, "Memory specification can not be satisfied\n" },
		{ r->tmp, "Temporary disk specification can not be satisfied\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(complexes); i++) {
		/* "it offers only hc:mem=3.000G" */
		cleanup_free char *reason = complexes[i].name ? xasprintf(":%s=", complexes[i].name) : NULL;

		if (reason && strstr(reasons, reason))
			return complexes[i].words;
	}
	return "";
}

bool verify_lacks(const struct resources *r, const char *prefix, const char *reasons)
{
	for (size_t i = 0; i < r->requests.n; i++) {
		const char *request = r->requests.v[i];
		cleanup_free char *reason = xasprintf(":%.*s", (int)strcspn(request, "=") + 1, request);

		if (!strncmp(request, prefix, strlen(prefix)) && strstr(reasons, reason))
			return true;
	}
	return false;
}

bool verify_in_use(const char *reasons)
{
	return strstr(reasons, "exclusive resource") && strstr(reasons, "is already in use");
}

bool verify_time_limit(const char *reasons)
{
	return strstr(reasons, ":h_rt=") != NULL;
}

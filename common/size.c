/* SPDX-License-Identifier: Apache-2.0 */
#include "common/size.h"

#include <ctype.h>
#include <string.h>

/* log2 of the unit in KiB; -1: none such. */
static int shift_of(char unit)
{
	switch (toupper((unsigned char)unit)) {
	case 'K':
		return 0;
	case 'M':
		return 10;
	case 'G':
		return 20;
	case 'T':
		return 30;
	default:
		return -1;
	}
}

int size_parse_mib(const char *text, uint64_t *mib, struct error *err)
{
	int shift = 10;
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || errno || v < 0)
		return error_set(err, ERR_USAGE, "\"%s\" is not a size", text);
	if (*end) {
		shift = shift_of(*end++);
		if (shift < 0 || (*end && strcasecmp(end, "B")))
			return error_set(err, ERR_USAGE, "\"%s\" is not a size", text);
	}
	if (shift == 0) { /* K: up to a whole MiB */
		*mib = (uint64_t)v / 1024 + (v % 1024 != 0);
		return 0;
	}
	if ((uint64_t)v > UINT64_MAX >> (shift - 10))
		return error_set(err, ERR_USAGE, "\"%s\" is too large", text);
	*mib = (uint64_t)v << (shift - 10);
	return 0;
}

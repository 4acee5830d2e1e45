/* SPDX-License-Identifier: Apache-2.0 */
#include "common/size.h"

#include <criterion/criterion.h>

#define BAD UINT64_MAX

/* What sbatch --mem and --mem-per-cpu of Slurm 22.05 made of each text. */
static const struct {
	const char *text;
	uint64_t mib;
} sizes[] = {
	{ "0", 0 },
	{ "1", 1 },
	{ "100", 100 },
	{ "100M", 100 },
	{ "100m", 100 },
	{ "100MB", 100 },
	{ "100mb", 100 },
	{ "1g", 1024 },
	{ "1GB", 1024 },
	{ "2048K", 2 },
	{ "1023K", 1 },
	{ "1024K", 1 },
	{ "1025K", 2 },
	{ "1k", 1 },
	{ "1T", 1048576 },
	{ "1TB", 1048576 },
	{ "0.5G", BAD },
	{ "1.5G", BAD },
	{ "x", BAD },
	{ "-1", BAD },
	{ "1X", BAD },
	{ "1 G", BAD },
	{ "1Gi", BAD },
	{ "1MiB", BAD },
	{ "1B", BAD },
	{ "10b", BAD },
	{ "1e3", BAD },
	{ "999999", 999999 },
	{ "8000", 8000 },
	{ "8001", 8001 },
	{ "7.9G", BAD },
	{ "0G", 0 },
	{ "00100", 100 },
	{ "+100", 100 },
	{ "100Mx", BAD },
	{ "M", BAD },
	{ "G1", BAD },
	{ "4294967296", 4294967296 },
	{ "18446744073709551616", BAD },
	{ "", BAD },
	{ "17179869184T", UINT64_C(17179869184) << 20 },
	{ "9223372036854775807T", BAD },
	{ "9223372036854775807K", (UINT64_C(1) << 53) },
};

Test(size, parse)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t mib = 12345;
		struct error err = ERROR_INIT;
		int rc = size_parse_mib(sizes[i].text, &mib, &err);

		if (sizes[i].mib == BAD) {
			cr_expect_eq(rc, -1, "\"%s\" gives %llu", sizes[i].text, (unsigned long long)mib);
			cr_expect_eq(mib, 12345);
			cr_expect_eq(err.code, ERR_USAGE);
			continue;
		}
		cr_expect_eq(rc, 0, "\"%s\"", sizes[i].text);
		cr_expect_eq(mib, sizes[i].mib, "\"%s\": %llu", sizes[i].text, (unsigned long long)mib);
	}
}

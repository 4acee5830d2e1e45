/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/grant.h"

#include <criterion/criterion.h>

/* As OCS 9.1.5 prints it. */
static const char text[] =
	"==============================================================\n"
	"job_number:                      7\n"
	"hard_resource_list:              gpu=1,h_rt=600,mem=1G\n"
	"exec_host_list              1:   node3=2,node2=1,node1=1\n"
	"resource_map                1:   gpu=node3=(0 1),gpu=node2=(0),fpga=node3=(a b)\n"
	"resource_map                2:   gpu=node1=(GPU-8c2f MIG-1/2/0)\n"
	"resource_map                3:   NONE\n"
	"resource_map                4:   gpu=node1=()\n"
	"resource_map               12:   gpu=node1=(7)\n"
	"scheduling info:                 (Collecting of scheduler job information is turned off)\n";

Test(grant, ids)
{
	static const struct {
		uint32_t task;
		const char *map, *host, *ids;
		uint32_t count;
	} rows[] = {
		{ 1, "gpu", "node3", "0,1", 2 },
		{ 1, "gpu", "node2", "0", 1 },
		{ 1, "fpga", "node3", "a,b", 2 },
		{ 1, "gpu", "node1", "", 0 },
		{ 1, "gpu", "node", "", 0 },
		{ 1, "gp", "node3", "", 0 },
		{ 2, "gpu", "node1", "GPU-8c2f,MIG-1/2/0", 2 },
		{ 3, "gpu", "node1", "", 0 },
		{ 4, "gpu", "node1", "", 0 },
		{ 12, "gpu", "node1", "7", 1 },
		{ 5, "gpu", "node1", "", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_strbuf struct strbuf out = STRBUF_INIT;
		uint32_t n = grant_ids(text, rows[i].task, rows[i].map, rows[i].host, &out);

		cr_expect(n == rows[i].count && !strcmp(out.buf, rows[i].ids), "row %zu: %u \"%s\"", i, n,
			  out.buf);
	}
}

/* What a dying engine may leave of a line. */
Test(grant, torn_lines)
{
	static const char *const lines[] = {
		"resource_map",           "resource_map 1",
		"resource_map 1:",        "resource_map 1: gpu",
		"resource_map 1: gpu=",   "resource_map 1: gpu=h",
		"resource_map 1: gpu=h=", "resource_map 99999999999999999999: gpu=h=(1)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		cleanup_strbuf struct strbuf out = STRBUF_INIT;

		cr_expect_eq(grant_ids(lines[i], 1, "gpu", "h", &out), 0, "row %zu", i);
	}
}

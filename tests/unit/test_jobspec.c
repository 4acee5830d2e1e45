/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/jobspec.h"

#include "common/duration.h"
#include "common/mem.h"

#include <criterion/criterion.h>
#include <string.h>

/* Every member is another value than after jobspec_init(). */
static void fill(struct jobspec *j)
{
	static const uint32_t index[] = { 0, 2, 4 };

	jobspec_init(j);
	j->name = xstrdup("a\n\xff");
	j->partition = xstrdup("p");
	j->account = xstrdup("acc");
	j->qos = xstrdup("q");
	j->comment = xstrdup("");
	j->command = xstrdup("/c x");
	j->submit_dir = xstrdup("/sd");
	j->submit_host = xstrdup("sh");
	j->submit_addr = xstrdup("10.0.0.1");
	j->work_dir = xstrdup("/wd");
	j->std_in = xstrdup("i");
	j->std_out = xstrdup("o");
	j->std_err = xstrdup("e");
	j->open_mode = 'a';
	j->umask = 077;
	j->export_none_env = true;
	j->export_env = xstrdup("NONE");
	j->get_user_env = true;
	j->min_nodes = 2;
	j->max_nodes = 3;
	j->ntasks = 4;
	j->ntasks_per_node = 5;
	j->cpus_per_task = 6;
	j->slots_per_host = 7;
	j->overcommit = j->exclusive = true;
	j->distribution = xstrdup("plane=2");
	j->mem_per_node_mib = 8;
	j->mem_per_cpu_mib = 9;
	j->mem_per_gpu_mib = 12;
	j->cpus_per_gpu = 13;
	j->gpus = xstrdup("a100:2");
	j->gpus_per_node = xstrdup("4");
	j->gpus_per_task = xstrdup("1");
	j->gpu_maps = xstrdup("gpu,gpu_a100");
	j->time_limit = 600;
	j->signal_number = 10;
	j->signal_before = 11;
	j->signal_batch_only = true;
	j->array_index = xmemdup(index, sizeof(index));
	j->array_count = 3;
	j->array_step = 2;
	j->requeue = true;
	j->launch = (struct launch_settings){ 61000,
					      61439,
					      1,
					      2,
					      3,
					      4,
					      5,
					      6,
					      7,
					      8,
					      true,
					      xstrdup("eth0"),
					      xstrdup("a:b"),
					      xstrdup("/acct"),
					      xstrdup("cl") };
}

Test(jobspec, comes_back_equal)
{
	cleanup_jobspec struct jobspec a, b;
	cleanup_strbuf struct strbuf packed = STRBUF_INIT, again = STRBUF_INIT;
	struct error err = ERROR_INIT;

	fill(&a);
	jobspec_pack(&a, &packed);
	cr_assert_eq(jobspec_unpack(&b, packed.buf, packed.len, &err), 0, "%s", err.text);
	cr_expect_str_eq(b.name, "a\n\xff");
	cr_expect_str_eq(b.comment, "");
	cr_expect_eq(b.array_count, 3);
	cr_expect_eq(b.array_index[2], 4);
	cr_expect_eq(b.time_limit, 600);
	cr_expect_eq(b.signal_batch_only, true);
	cr_expect_str_eq(b.launch.cluster_name, "cl");
	cr_expect_eq(b.launch.launch_window, 8);
	/* what packs to the same bytes is the same */
	jobspec_pack(&b, &again);
	cr_expect_eq(again.len, packed.len);
	cr_expect_arr_eq(again.buf, packed.buf, packed.len);
}

Test(jobspec, unset_stays_unset)
{
	cleanup_jobspec struct jobspec a, b;
	cleanup_strbuf struct strbuf packed = STRBUF_INIT;
	struct error err = ERROR_INIT;

	jobspec_init(&a);
	jobspec_pack(&a, &packed);
	cr_assert_eq(jobspec_unpack(&b, packed.buf, packed.len, &err), 0, "%s", err.text);
	cr_expect_null(b.name);
	cr_expect_eq(b.ntasks, JOBSPEC_UNSET);
	cr_expect_eq(b.min_nodes, JOBSPEC_UNSET);
	cr_expect_eq(b.time_limit, DURATION_INFINITE);
	cr_expect_eq(b.array_count, 0);
	cr_expect_null(b.array_index);
}

Test(jobspec, every_cut_is_malformed)
{
	cleanup_jobspec struct jobspec a;
	cleanup_strbuf struct strbuf packed = STRBUF_INIT;

	fill(&a);
	jobspec_pack(&a, &packed);
	for (size_t n = 0; n < packed.len; n++) {
		struct jobspec b;
		struct error err = ERROR_INIT;
		cleanup_free char *copy = xmemdup(packed.buf, n); /* so that a read behind the end is seen */

		cr_expect_eq(jobspec_unpack(&b, copy, n, &err), -1, "%zu of %zu bytes", n, packed.len);
		cr_expect_eq(err.code, ERR_PROTOCOL);
	}
	strbuf_addch(&packed, 'x');
	{
		struct jobspec b;

		cr_expect_eq(jobspec_unpack(&b, packed.buf, packed.len, NULL), -1, "a byte behind the end");
	}
}

Test(jobspec, another_version_says_so)
{
	cleanup_jobspec struct jobspec a, b = JOBSPEC_INIT;
	cleanup_strbuf struct strbuf packed = STRBUF_INIT;
	struct error err = ERROR_INIT;

	fill(&a);
	jobspec_pack(&a, &packed);
	packed.buf[4 + strlen("slurm-on-ocs job") + 3] = JOBSPEC_VERSION + 1;
	cr_expect_eq(jobspec_unpack(&b, packed.buf, packed.len, &err), -1);
	cr_expect_str_eq(err.text, "job file: version 2, this program reads version 1");
	packed.buf[5] = 'X';
	cr_expect_eq(jobspec_unpack(&b, packed.buf, packed.len, &err), -1);
	cr_expect_str_eq(err.text, "job file: malformed");
}

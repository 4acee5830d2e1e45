/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mem.h"
#include "common/pack.h"
#include "ocs/stepspec.h"

#include <criterion/criterion.h>
#include <string.h>

static void fill(struct stepspec *s)
{
	stepspec_init(s);
	argvec_pushl(&s->argv, "prog", "a b", "", NULL);
	env_set(&s->env, "A", "1");
	env_set(&s->env, "B", "two\nlines");
	s->cwd = xstrdup("/home/a");
	s->chdir = xstrdup("/tmp");
	s->name = xstrdup("step");
	s->min_nodes = 2;
	s->max_nodes = 3;
	s->ntasks = 4;
	s->cpus_per_task = 5;
	s->ntasks_per_node = 6;
	s->relative = 1;
	s->distribution = DIST_PLANE;
	s->pack = true;
	s->plane_size = 7;
	s->nodelist = xstrdup("n[1-2]");
	s->exclude = xstrdup("n3");
	s->overcommit = s->exact = s->overlap = s->immediate = true;
	s->std_in = xstrdup("none");
	s->std_out = xstrdup("out.%t");
	s->std_err = xstrdup("err");
	s->open_mode = 'a';
	s->label = s->unbuffered = s->no_kill = s->disable_status = true;
	s->kill_on_bad_exit = 1;
	s->wait = 8;
	s->verbosity = -1;
	s->time_limit = 90;
	s->propagate_umask = false;
	s->umask = 027;
}

Test(stepspec, round_trip)
{
	struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
	struct stepspec a, b;
	struct error err = ERROR_INIT;

	fill(&a);
	stepspec_pack(&a, &first);
	cr_assert_eq(stepspec_unpack(&b, first.buf, first.len, &err), 0, "%s", err.text);
	stepspec_pack(&b, &second);
	cr_expect_eq(first.len, second.len);
	cr_expect_arr_eq(first.buf, second.buf, first.len);
	cr_expect_str_eq(b.argv.v[2], "");
	cr_expect_str_eq(env_get(&b.env, "B"), "two\nlines");
	cr_expect_eq(b.verbosity, -1);
	cr_expect_eq(b.plane_size, 7);
	stepspec_release(&a);
	stepspec_release(&b);
	strbuf_release(&first);
	strbuf_release(&second);
}

Test(stepspec, what_is_not_given_stays_so)
{
	struct strbuf out = STRBUF_INIT;
	struct stepspec a, b;

	stepspec_init(&a);
	argvec_push(&a.argv, "true");
	a.cwd = xstrdup("/");
	stepspec_pack(&a, &out);
	cr_assert_eq(stepspec_unpack(&b, out.buf, out.len, NULL), 0);
	cr_expect_eq(b.ntasks, STEPSPEC_UNSET);
	cr_expect_eq(b.min_nodes, STEPSPEC_UNSET);
	cr_expect_eq(b.kill_on_bad_exit, -1);
	cr_expect_null(b.chdir);
	cr_expect_null(b.std_out);
	stepspec_release(&a);
	stepspec_release(&b);
	strbuf_release(&out);
}

Test(stepspec, every_cut_is_refused)
{
	struct strbuf out = STRBUF_INIT;
	struct stepspec a;

	fill(&a);
	stepspec_pack(&a, &out);
	for (size_t n = 0; n < out.len; n++) {
		struct stepspec b;

		cr_expect_eq(stepspec_unpack(&b, out.buf, n, NULL), -1, "%zu of %zu bytes", n, out.len);
		stepspec_release(&b);
	}
	strbuf_addch(&out, 'x');
	struct stepspec b;
	cr_expect_eq(stepspec_unpack(&b, out.buf, out.len, NULL), -1);
	stepspec_release(&b);
	stepspec_release(&a);
	strbuf_release(&out);
}

Test(stepspec, no_command_no_step)
{
	struct strbuf out = STRBUF_INIT;
	struct stepspec a, b;

	stepspec_init(&a);
	a.cwd = xstrdup("/");
	stepspec_pack(&a, &out);
	cr_expect_eq(stepspec_unpack(&b, out.buf, out.len, NULL), -1);
	stepspec_release(&a);
	stepspec_release(&b);
	strbuf_release(&out);
}

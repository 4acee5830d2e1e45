/* SPDX-License-Identifier: Apache-2.0 */
#include "common/argvec.h"
#include "common/mem.h"

#include <criterion/criterion.h>

Test(argvec, is_an_argv)
{
	cleanup_argvec struct argvec av = ARGVEC_INIT;
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	argvec_push(&av, "qsub");
	argvec_pushl(&av, "-N", "it's", NULL);
	argvec_pushf(&av, "%d", 7);
	argvec_push_take(&av, xstrdup(""));
	cr_expect_eq(av.n, 5);
	cr_expect_null(av.v[5]);
	argvec_quote(&av, &line);
	cr_expect_str_eq(line.buf, "qsub -N 'it'\\''s' 7 ''");
	argvec_release(&av);
	cr_expect_eq(av.n, 0);
	cr_expect_null(av.v);
}

Test(argvec, grows)
{
	cleanup_argvec struct argvec av = ARGVEC_INIT;

	for (int i = 0; i < 100; i++) {
		argvec_pushf(&av, "%d", i);
		cr_assert_null(av.v[av.n]);
	}
	cr_expect_str_eq(av.v[15], "15");
	cr_expect_str_eq(av.v[99], "99");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/env.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect(const struct env *e, const char *want)
{
	cleanup_strbuf struct strbuf got = STRBUF_INIT;

	for (size_t i = 0; i < e->vars.n; i++)
		strbuf_addf(&got, "%s%s", i ? "|" : "", e->vars.v[i]);
	cr_expect_str_eq(got.buf, want, "%s, not %s", got.buf, want);
	if (e->vars.v)
		cr_expect_null(e->vars.v[e->vars.n]);
}

Test(env, set_get_unset)
{
	cleanup_env struct env e = ENV_INIT;

	cr_expect_null(env_get(&e, "A"));
	env_set(&e, "A", "1");
	env_set(&e, "AB", "2");
	env_setf(&e, "B", "%d%%", 3);
	cr_expect_str_eq(env_get(&e, "A"), "1");
	env_set(&e, "A", "x=y\nz");
	expect(&e, "A=x=y\nz|AB=2|B=3%");
	env_unset(&e, "C");
	env_unset(&e, "A");
	expect(&e, "AB=2|B=3%");
	env_unset_prefix(&e, "A");
	expect(&e, "B=3%");
}

/* Bash functions and nonsense without '=' come in from a caller's environment and go on as they are. */
Test(env, keeps_what_it_gets)
{
	char *in[] = { (char *)"X=1", (char *)"BASH_FUNC_f%%=() {  :\n}", (char *)"nonsense", (char *)"X=2",
		       NULL };
	cleanup_env struct env e = ENV_INIT;

	env_add_all(&e, in);
	expect(&e, "X=1|BASH_FUNC_f%%=() {  :\n}|nonsense|X=2");
	cr_expect_str_eq(env_get(&e, "X"), "1");
	env_unset(&e, "X");
	expect(&e, "BASH_FUNC_f%%=() {  :\n}|nonsense");
}

Test(env, merge_replaces)
{
	char *a[] = { (char *)"A=1", (char *)"B=2", NULL };
	char *b[] = { (char *)"B=3", (char *)"junk", (char *)"C=4", NULL };
	cleanup_env struct env e = ENV_INIT, src = ENV_INIT;

	env_add_all(&e, a);
	env_add_all(&src, b);
	env_merge(&e, &src);
	expect(&e, "A=1|B=3|C=4");
	expect(&src, "B=3|junk|C=4");
}

Test(env, packs_every_byte)
{
	char *in[] = { (char *)"A=", (char *)"B=\x01\xff\n", (char *)"", NULL };
	cleanup_env struct env e = ENV_INIT, back = ENV_INIT;
	cleanup_strbuf struct strbuf data = STRBUF_INIT;
	struct error err = ERROR_INIT;

	env_add_all(&e, in);
	env_pack(&e, &data);
	cr_assert_eq(data.len, 3 + 6 + 1);
	cr_assert_eq(env_unpack(&back, data.buf, data.len, &err), 0);
	expect(&back, "A=|B=\x01\xff\n|");
	cr_expect_eq(env_unpack(&back, "A=1", 3, &err), -1);
	cr_expect_eq(err.code, ERR_PROTOCOL);
	cr_expect_eq(env_unpack(&back, "", 0, &err), 0);
}

Test(env, names)
{
	static const struct {
		const char *name;
		bool good;
	} rows[] = { { "A", true }, { "_x9", true },  { "9a", false },
		     { "", false }, { "a-b", false }, { "a b", false } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(env_is_name(rows[i].name, strlen(rows[i].name)), rows[i].good, "%s",
			     rows[i].name);
	cr_expect(env_is_name("ab=c", 2));
}

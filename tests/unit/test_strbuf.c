/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strbuf.h"

#include <criterion/criterion.h>
#include <string.h>

Test(strbuf, grows_and_stays_terminated)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	cr_expect_str_eq(sb.buf, "");
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&sb, "%d,", i);
	cr_expect_eq(sb.len, strlen(sb.buf));
	cr_expect_eq(strncmp(sb.buf, "0,1,2,", 6), 0);
	cr_expect_eq(strcmp(sb.buf + sb.len - 8, "998,999,"), 0);
	strbuf_reset(&sb);
	cr_expect_str_eq(sb.buf, "");
	strbuf_add(&sb, "a\0b", 3);
	cr_expect_eq(sb.len, 3);
	cr_expect_eq(memcmp(sb.buf, "a\0b", 4), 0);
}

/* The empty string is shared between all buffers: nothing may ever write it. */
Test(strbuf, reset_and_nothing_added_leave_the_shared_string)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	char *s;

	strbuf_reset(&sb);
	strbuf_add(&sb, NULL, 0);
	strbuf_addstr(&sb, "");
	cr_expect_eq(sb.alloc, 0);
	s = strbuf_steal(&sb);
	cr_expect_str_eq(s, "");
	free(s);
	cr_expect_eq(strbuf_empty[0], '\0');
}

Test(strbuf, steal_leaves_it_usable)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	cleanup_free char *s = NULL;

	strbuf_addstr(&sb, "one");
	s = strbuf_steal(&sb);
	strbuf_addstr(&sb, "two");
	cr_expect_str_eq(s, "one");
	cr_expect_str_eq(sb.buf, "two");
}

static const struct {
	const char *in, *out;
} quoted[] = {
	{ "", "''" },
	{ "plain-1.2/x:y,z=@%", "plain-1.2/x:y,z=@%" },
	{ "a b", "'a b'" },
	{ "it's", "'it'\\''s'" },
	{ "$HOME;`x`", "'$HOME;`x`'" },
	{ "a\nb", "'a\nb'" },
	{ "\"\\", "'\"\\'" },
	{ "~x", "'~x'" },
	{ "é", "'é'" },
};

Test(strbuf, shell_quoting)
{
	for (size_t i = 0; i < ARRAY_SIZE(quoted); i++) {
		cleanup_strbuf struct strbuf sb = STRBUF_INIT;

		strbuf_add_shell_quoted(&sb, quoted[i].in);
		cr_expect_str_eq(sb.buf, quoted[i].out, "%s", sb.buf);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "common/error.h"

#include <criterion/criterion.h>
#include <string.h>

Test(error, set_and_wrap)
{
	struct error err = ERROR_INIT;

	cr_expect_eq(error_set(&err, ERR_USAGE, "%s %d", "a", 1), -1);
	cr_expect_eq(err.code, ERR_USAGE);
	cr_expect_str_eq(err.text, "a 1");
	cr_expect_eq(error_wrap(&err, "file %d", 7), -1);
	cr_expect_str_eq(err.text, "file 7: a 1");
	cr_expect_eq(err.code, ERR_USAGE);
}

Test(error, errno_is_told_and_kept)
{
	struct error err = ERROR_INIT;

	errno = ENOENT;
	cr_expect_eq(error_errno(&err, "%s", "x"), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_str_eq(err.text, "x: No such file or directory");
	cr_expect_eq(err.code, ERR_SYSTEM);
}

Test(error, null_is_allowed)
{
	cr_expect_eq(error_set(NULL, ERR_USAGE, "x"), -1);
	cr_expect_eq(error_errno(NULL, "x"), -1);
	cr_expect_eq(error_wrap(NULL, "x"), -1);
}

Test(error, long_texts_are_cut)
{
	struct error err = ERROR_INIT;
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&err, ERR_CONF, "%s", text);
	cr_expect_eq(strlen(err.text), sizeof(err.text) - 1);
	error_wrap(&err, "context");
	cr_expect_eq(strlen(err.text), sizeof(err.text) - 1);
	cr_expect_eq(strncmp(err.text, "context: xxx", 12), 0);
	error_wrap(&err, "%s", text);
	error_errno(&err, "%s", text);
	cr_expect_eq(strlen(err.text), sizeof(err.text) - 1);
}

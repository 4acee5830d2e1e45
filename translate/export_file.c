/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/export_file.h"

#include "common/fd.h"
#include "common/mem.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (64u << 20) /* bytes */

/* The descriptor that spec names; -1: it is no number of an open one. */
static int given_fd(const char *spec)
{
	char *end;
	long n = strtol(spec, &end, 10);

	if (end == spec || *end || n < 3 || n > INT_MAX || fcntl((int)n, F_GETFL) < 0)
		return -1;
	return (int)n;
}

static void add_item(const char *item, struct env *out)
{
	const char *equal = strchr(item, '=');
	cleanup_free char *name = equal && equal > item ? xstrndup(item, (size_t)(equal - item)) : NULL;

	if (name)
		env_set(out, name, equal + 1);
}

int export_file_read(const char *spec, struct env *out, struct error *err)
{
	int given = given_fd(spec);
	cleanup_fd int opened = given < 0 ? open(spec, O_RDONLY | O_CLOEXEC) : -1;
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (given < 0 && opened < 0)
		return error_set(err, ERR_VALUE, "Could not open user environment file %s", spec);
	if (fd_read_to_eof(given < 0 ? opened : given, FILE_MAX, &text) < 0)
		return error_errno(err, "Could not read user environment file %s", spec);
	for (size_t i = 0; i < text.len; i += strlen(text.buf + i) + 1)
		add_item(text.buf + i, out);
	return 0;
}

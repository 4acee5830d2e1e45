/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format language of squeue (and of the commands like it): "-o '%.18i %8j|%T'", "-O 'JobID:12,Name:.20|'".
 * Which fields there are is the caller's table; this is the language and the width of columns.
 */
#ifndef SOC_TRANSLATE_FORMAT_H
#define SOC_TRANSLATE_FORMAT_H

#include "common/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

#define FORMAT_LITERAL (-1) /* no field: suffix is all there is */

struct format_field {
	int field;    /* the caller's number, or FORMAT_LITERAL */
	size_t width; /* bytes; 0: as wide as the value */
	bool right;   /* justified */
	char *suffix; /* copied behind the value; never NULL */
};

struct format {
	char *prefix; /* what stands before the first field; never NULL once parsed */
	struct format_field *fields;
	size_t n;
};

#define FORMAT_INIT                                                                                          \
	{                                                                                                    \
		NULL, NULL, 0                                                                                \
	}
#define cleanup_format cleanup(format_release)

/* The number of the field of that letter, or of that name (any case); FORMAT_LITERAL: there is none. */
typedef int format_letter_fn(char letter);
typedef int format_name_fn(const char *name);
/* Told of each word that is no field: Slurm complains and goes on. */
typedef void format_invalid_fn(const char *what);

void format_release(struct format *f);
/* A "%" without a known letter stays in the line as it was written. */
void format_parse(struct format *f, const char *text, format_letter_fn *find, format_invalid_fn *invalid);
/* -O: type[:[.][size][suffix]],...; 20 wide where no ':' is. Unknown names are left out. */
void format_parse_names(struct format *f, const char *text, format_name_fn *find, format_invalid_fn *invalid);
/* A value in its column, cut at the width, with the suffix. */
void format_add(const struct format_field *f, const char *value, struct strbuf *line);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A growing, NULL terminated vector of owned strings: an argv. */
#ifndef SOC_COMMON_ARGVEC_H
#define SOC_COMMON_ARGVEC_H

#include "common/strbuf.h"

struct argvec {
	char **v; /* NULL terminated once something was pushed; NULL before */
	size_t n;
	size_t alloc;
};

#define ARGVEC_INIT                                                                                          \
	{                                                                                                    \
		NULL, 0, 0                                                                                   \
	}
#define cleanup_argvec cleanup(argvec_release)

void argvec_release(struct argvec *av);
void argvec_push(struct argvec *av, const char *s); /* copies */
void argvec_push_take(struct argvec *av, char *s);  /* owns s from now on */
void argvec_pushf(struct argvec *av, const char *fmt, ...) PRINTF(2, 3);
void argvec_pushl(struct argvec *av, ...) __attribute__((sentinel)); /* copies, up to NULL */
/* Appends the words, shell quoted, one blank between. */
void argvec_quote(const struct argvec *av, struct strbuf *out);

#endif

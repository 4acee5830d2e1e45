/* SPDX-License-Identifier: Apache-2.0 */
#include "common/argvec.h"

#include "common/mem.h"

#include <stdarg.h>

void argvec_release(struct argvec *av)
{
	for (size_t i = 0; i < av->n; i++)
		free(av->v[i]);
	free(av->v);
	*av = (struct argvec)ARGVEC_INIT;
}

void argvec_push_take(struct argvec *av, char *s)
{
	if (av->n + 2 > av->alloc) {
		av->alloc = av->alloc ? av->alloc * 2 : 16;
		av->v = xreallocarray(av->v, av->alloc, sizeof(*av->v));
	}
	av->v[av->n++] = s;
	av->v[av->n] = NULL;
}

void argvec_push(struct argvec *av, const char *s)
{
	argvec_push_take(av, xstrdup(s));
}

void argvec_pushf(struct argvec *av, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	argvec_push_take(av, xvasprintf(fmt, ap));
	va_end(ap);
}

void argvec_pushl(struct argvec *av, ...)
{
	const char *s;
	va_list ap;

	va_start(ap, av);
	while ((s = va_arg(ap, const char *)))
		argvec_push(av, s);
	va_end(ap);
}

void argvec_quote(const struct argvec *av, struct strbuf *out)
{
	for (size_t i = 0; i < av->n; i++) {
		if (i)
			strbuf_addch(out, ' ');
		strbuf_add_shell_quoted(out, av->v[i]);
	}
}

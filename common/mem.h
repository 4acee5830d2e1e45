/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that can't fail: prints one line and exits 1 when memory is out. The caller frees. */
#ifndef SOC_COMMON_MEM_H
#define SOC_COMMON_MEM_H

#include "common/compiler.h"

#include <stdarg.h>
#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
/* n elements of size bytes, overflow checked. */
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s); /* NULL gives NULL */
char *xstrndup(const char *s, size_t n);
void *xmemdup(const void *p, size_t n);
char *xasprintf(const char *fmt, ...) PRINTF(1, 2);
char *xvasprintf(const char *fmt, va_list ap) PRINTF(1, 0);

/* Frees the old value of *field and keeps a copy of s (NULL allowed). */
void replace_str(char **field, const char *s);

#endif

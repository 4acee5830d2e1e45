/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String compares of our own: a call of the C library's would bind to whatever the program brings (a
 * sanitizer's strlen, say), in a constructor that runs before that is ready, and would be one more symbol to
 * import.
 */
#ifndef SOC_PRELOAD_TEXT_H
#define SOC_PRELOAD_TEXT_H

#include <stdbool.h>
#include <stddef.h>

static inline size_t text_len(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

static inline bool text_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* What follows `prefix` in s, or NULL when s doesn't begin with it. */
static inline const char *text_after(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return NULL;
	return s;
}

/* The part behind the last '/'; s itself when there is none. */
static inline const char *text_base(const char *s)
{
	const char *base = s;
	for (; *s; s++)
		if (*s == '/')
			base = s + 1;
	return base;
}

/* Appends to buf (of size bytes, *len used); false when it doesn't fit. The result is always terminated. */
static inline bool text_append(char *buf, size_t size, size_t *len, const char *s, size_t n)
{
	if (n >= size - *len)
		return false;
	for (size_t i = 0; i < n; i++)
		buf[(*len)++] = s[i];
	buf[*len] = '\0';
	return true;
}

#endif

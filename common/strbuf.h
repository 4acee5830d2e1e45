/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte string; buf is always NUL terminated (never NULL after init) and may hold NUL bytes before len. */
#ifndef SOC_COMMON_STRBUF_H
#define SOC_COMMON_STRBUF_H

#include "common/compiler.h"

#include <stddef.h>

/* libconfig exports a function of this name, too: linked statically they clash, shared ours would take its place. */
#define strbuf_release soc_strbuf_release

struct strbuf {
	char *buf;
	size_t len;
	size_t alloc; /* 0: buf is the shared empty string */
};

extern char strbuf_empty[];
#define STRBUF_INIT                                                                                          \
	{                                                                                                    \
		strbuf_empty, 0, 0                                                                           \
	}
#define cleanup_strbuf cleanup(strbuf_release)

void strbuf_init(struct strbuf *sb);
void strbuf_release(struct strbuf *sb); /* leaves it as after init */
void strbuf_reset(struct strbuf *sb);   /* length 0, keeps the memory */
void strbuf_reserve(struct strbuf *sb, size_t extra);
void strbuf_add(struct strbuf *sb, const void *data, size_t n);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) PRINTF(2, 3);
/* The string as malloc memory (caller frees); sb is as after init. */
char *strbuf_steal(struct strbuf *sb);
/* s as one word for a POSIX shell, quoted only where it must be. */
void strbuf_add_shell_quoted(struct strbuf *sb, const char *s);

#endif

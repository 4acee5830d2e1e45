/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of library code: whoever can explain a failure fills `struct error` (the last parameter) and returns -1;
 * success never touches it. Only applets and mains print it and choose the exit code. err may be NULL.
 */
#ifndef SOC_COMMON_ERROR_H
#define SOC_COMMON_ERROR_H

#include "common/compiler.h"

enum error_code {
	ERR_NONE,
	ERR_USAGE,    /* the user's words, where Slurm's option parser exits 255 (1 for the query commands) */
	ERR_VALUE,    /* the user's words, where Slurm exits 1 */
	ERR_SYSTEM,   /* a system call */
	ERR_CONF,     /* our configuration file */
	ERR_ENGINE,   /* the engine refused or doesn't answer */
	ERR_PROTOCOL, /* a peer or a file of ours is malformed */
};

struct error {
	int code;       /* enum error_code */
	char text[512]; /* one line, no newline, no prefix */
};

#define ERROR_INIT                                                                                           \
	{                                                                                                    \
		0, ""                                                                                        \
	}

/* Fills err; returns -1. */
int error_set(struct error *err, int code, const char *fmt, ...) PRINTF(3, 4);
/* As error_set with ERR_SYSTEM and ": <strerror(errno)>" appended; returns -1 and keeps errno. */
int error_errno(struct error *err, const char *fmt, ...) PRINTF(2, 3);
/* Puts context before the text: "<context>: <text>"; returns -1. */
int error_wrap(struct error *err, const char *fmt, ...) PRINTF(2, 3);

#endif

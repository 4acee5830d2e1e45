/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for people, on stderr, one write(2) a line, control characters replaced. Slurm's shapes:
 * log_error "srun: error: ...", log_fatal "srun: fatal: ..." (it doesn't exit), log_info "srun: ...",
 * log_verbose the same at -v, log_debug "srun: debug: ..." at -vv. Never a secret in a line.
 */
#ifndef SOC_COMMON_LOG_H
#define SOC_COMMON_LOG_H

#include "common/compiler.h"

enum log_level { LOG_QUIET = -1, LOG_NORMAL, LOG_VERBOSE, LOG_DEBUG };

/* name is borrowed for the life of the process. */
void log_open(const char *name, int level);
void log_set_level(int level);
int log_level(void);
/* Where the lines go instead of stderr; the supervisor's stderr is nobody's. */
void log_set_fd(int fd);

void log_error(const char *fmt, ...) PRINTF(1, 2);
void log_fatal(const char *fmt, ...) PRINTF(1, 2);
void log_info(const char *fmt, ...) PRINTF(1, 2);
void log_verbose(const char *fmt, ...) PRINTF(1, 2);
void log_debug(const char *fmt, ...) PRINTF(1, 2);
/* The line as it is, without prefix (Slurm has a few of those). */
void log_bare(const char *fmt, ...) PRINTF(1, 2);

/* An impossible state: says where and aborts. */
#define BUG(what) log_bug(__FILE__, __LINE__, what)
void log_bug(const char *file, int line, const char *what) NORETURN;

#endif

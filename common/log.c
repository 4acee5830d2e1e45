/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <stdarg.h>
#include <string.h>

static const char *log_name = "slurm-on-ocs";
static int log_max = LOG_NORMAL;
static int log_fd = STDERR_FILENO;

void log_open(const char *name, int level)
{
	log_name = name;
	log_max = level;
}

void log_set_level(int level)
{
	log_max = level;
}

int log_level(void)
{
	return log_max;
}

void log_set_fd(int fd)
{
	log_fd = fd;
}

static void emit(const char *name, const char *kind, const char *fmt, va_list ap) PRINTF(3, 0);

static void emit(const char *name, const char *kind, const char *fmt, va_list ap)
{
	int saved = errno;
	char line[2048];
	size_t n = 0;
	int k;

	if (name)
		n = snprintf(line, sizeof(line), "%s: %s", name, kind);
	k = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	if (k < 0) {
		errno = saved;
		return;
	}
	n = n + k > sizeof(line) - 2 ? sizeof(line) - 2 : n + (size_t)k;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' && line[i] != '\t' && line[i] != '\n')
			line[i] = '?';
	line[n++] = '\n';
	if (write(log_fd, line, n) < 0) {
		/* nobody left to tell */
	}
	errno = saved;
}

#define LOG_FUNCTION(fn, level, kind)                                                                        \
	void fn(const char *fmt, ...)                                                                        \
	{                                                                                                    \
		va_list ap;                                                                                  \
		if (log_max < (level))                                                                       \
			return;                                                                              \
		va_start(ap, fmt);                                                                           \
		emit(log_name, kind, fmt, ap);                                                               \
		va_end(ap);                                                                                  \
	}

LOG_FUNCTION(log_error, LOG_QUIET, "error: ")
LOG_FUNCTION(log_fatal, LOG_QUIET, "fatal: ")
LOG_FUNCTION(log_info, LOG_NORMAL, "")
LOG_FUNCTION(log_verbose, LOG_VERBOSE, "")
LOG_FUNCTION(log_debug, LOG_DEBUG, "debug: ")

void log_bare(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(NULL, "", fmt, ap);
	va_end(ap);
}

void log_bug(const char *file, int line, const char *what)
{
	log_error("BUG at %s:%d: %s", file, line, what);
	abort();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The exec functions that we export; each of them, since glibc's own calls among them don't come here. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>

#include "preload/preload.h"

#define EXPORT __attribute__((visibility("default")))

/* Not from <unistd.h>: there they are "nonnull", and the compiler would drop what tolerates a NULL. */
int execve(const char *path, char *const argv[], char *const envp[]);
int execv(const char *path, char *const argv[]);
int execvp(const char *file, char *const argv[]);
int execvpe(const char *file, char *const argv[], char *const envp[]);
int execl(const char *path, const char *arg, ...);
int execlp(const char *file, const char *arg, ...);
int execle(const char *path, const char *arg, ...);

static int finish(const struct call *call, const char *file)
{
	errno = preload_call(call, file);
	return -1;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return finish(&(struct call){ .kind = CALL_EXECVE, .argv = argv, .envp = envp }, path);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return finish(&(struct call){ .kind = CALL_EXECV, .argv = argv }, path);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return finish(&(struct call){ .kind = CALL_EXECVP, .argv = argv }, file);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return finish(&(struct call){ .kind = CALL_EXECVPE, .argv = argv, .envp = envp }, file);
}

/*
 * The arguments up to and with the NULL, as an array on this function's stack (so it can't be a function). A
 * va_list can't be read twice after it was handed over on every ABI, hence two passes from the start.
 */
#define COLLECT(argv, ap, first)                                                                             \
	size_t count_ = 1;                                                                                   \
	va_start(ap, first);                                                                                 \
	if (first)                                                                                           \
		while (va_arg(ap, const char *))                                                             \
			count_++;                                                                            \
	va_end(ap);                                                                                          \
	char **argv = __builtin_alloca((count_ + 1) * sizeof *argv);                                         \
	va_start(ap, first);                                                                                 \
	argv[0] = (char *)first;                                                                             \
	for (size_t i_ = 0; argv[i_];)                                                                       \
	argv[++i_] = va_arg(ap, char *)

EXPORT int execl(const char *path, const char *arg, ...)
{
	va_list ap;
	COLLECT(argv, ap, arg);
	va_end(ap);
	return finish(&(struct call){ .kind = CALL_EXECV, .argv = argv }, path);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	va_list ap;
	COLLECT(argv, ap, arg);
	va_end(ap);
	return finish(&(struct call){ .kind = CALL_EXECVP, .argv = argv }, file);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	va_list ap;
	COLLECT(argv, ap, arg);
	char *const *envp = va_arg(ap, char *const *); /* follows the NULL that ended the arguments */
	va_end(ap);
	return finish(&(struct call){ .kind = CALL_EXECVE, .argv = argv, .envp = envp }, path);
}

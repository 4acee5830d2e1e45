/* SPDX-License-Identifier: Apache-2.0 */
/* Compiler attributes and the cleanup idiom: `cleanup_free char *s = ...; return steal_ptr(&s);` */
#ifndef SOC_COMMON_COMPILER_H
#define SOC_COMMON_COMPILER_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define NORETURN __attribute__((noreturn))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define cleanup(fn) __attribute__((cleanup(fn)))
#define cleanup_free cleanup(cleanup_freep)
#define cleanup_fd cleanup(cleanup_closep)
#define cleanup_file cleanup(cleanup_fclosep)

static inline void cleanup_freep(void *p)
{
	free(*(void **)p);
}

/* Closes a descriptor >= 0; keeps errno. */
static inline void cleanup_closep(int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

/* Gives the pointer away and leaves NULL behind, so that its cleanup does nothing. */
#define steal_ptr(pp)                                                                                        \
	({                                                                                                   \
		__typeof__(*(pp)) stolen_ = *(pp);                                                           \
		*(pp) = NULL;                                                                                \
		stolen_;                                                                                     \
	})

static inline int steal_fd(int *fd)
{
	int stolen = *fd;
	*fd = -1;
	return stolen;
}

#endif

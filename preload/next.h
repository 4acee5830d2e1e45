/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind ours: the C library's, or those of a library that comes after us in LD_PRELOAD. */
#ifndef SOC_PRELOAD_NEXT_H
#define SOC_PRELOAD_NEXT_H

#include <spawn.h>

typedef int execv_fn(const char *path, char *const argv[]);
typedef int execve_fn(const char *path, char *const argv[], char *const envp[]);
typedef int spawn_fn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

/* A pointer is NULL when no later object defines that function. */
struct next {
	execv_fn *execv;
	execv_fn *execvp;
	execve_fn *execve;
	execve_fn *execvpe;
	spawn_fn *posix_spawn;
	spawn_fn *posix_spawnp;
};

/* Fills *next. Takes the loader's lock, so it is for the constructor and for what runs before it only. */
void next_find(struct next *next);

#endif

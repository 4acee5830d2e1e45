/* SPDX-License-Identifier: Apache-2.0 */
/* The posix_spawn functions that we export. They return an error number and leave errno alone. */
#include "preload/preload.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return preload_call(&(struct call){ .kind = CALL_SPAWN, .argv = argv, .envp = envp, .pid = pid,
					    .actions = actions, .attr = attr }, path);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return preload_call(&(struct call){ .kind = CALL_SPAWNP, .argv = argv, .envp = envp, .pid = pid,
					    .actions = actions, .attr = attr }, file);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The posix_spawn functions that we export. They return an error number and leave errno alone. */
#include "preload/preload.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct call call = { CALL_SPAWN, argv, envp, pid, actions, attr };

	return preload_call(&call, path);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct call call = { CALL_SPAWNP, argv, envp, pid, actions, attr };

	return preload_call(&call, file);
}

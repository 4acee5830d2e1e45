/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exec or spawn on its way through us. Everything here may run in the child of a vfork, in the parent's
 * memory: only string compares, the stack and the next function; no heap, lock, global write or system call
 * of our own.
 */
#ifndef SOC_PRELOAD_PRELOAD_H
#define SOC_PRELOAD_PRELOAD_H

#include <spawn.h>
#include <stdbool.h>

#define NOINLINE __attribute__((noinline))
/* For a variable that is zero at first: see the note on tables in preload.c. */
#define IN_DATA __attribute__((section(".data")))

enum call_kind { CALL_EXECV, CALL_EXECVE, CALL_EXECVP, CALL_EXECVPE, CALL_SPAWN, CALL_SPAWNP };

/* The caller's arguments, borrowed. argv and envp may be NULL. The last three are for CALL_SPAWN*. */
struct call {
	enum call_kind kind;
	char *const *argv;
	char *const *envp; /* not looked at by CALL_EXECV and CALL_EXECVP, which mean environ */
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attr;
};

/*
 * The call itself, with the redirect and the container rule (rules.md) applied to `file`. Returns an error
 * number; 0 is for a successful spawn only, since a successful exec doesn't return. errno is the next
 * function's.
 */
int preload_call(const struct call *call, const char *file);

/* The next function of call's kind with `file` as it is; without a next function, the system call. */
int preload_pass(const struct call *call, const char *file);

/* The value of a variable of envp, or NULL. */
const char *preload_env(char *const *envp, const char *name);

/* containers.c: keeps the list of SOO_CONTAINER_RUNTIMES (NULL: the compiled one). For the constructor. */
void containers_init(const char *list);
bool containers_has(const char *name);
/* preload_pass with our entry taken out of LD_PRELOAD in a copy of envp. */
int containers_call(const struct call *call, const char *file);

/* native.c: SLURM_PROCID and its kin from a native launcher's rank variables. For the constructor. */
void native_fill(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program to its end and takes what it prints. Everything that can fail or allocate happens before fork. */
#ifndef SOC_COMMON_SPAWN_H
#define SOC_COMMON_SPAWN_H

#include "common/argvec.h"
#include "common/error.h"

#include <stdbool.h>

struct spawn {
	const char *program; /* a path, never searched */
	const struct argvec *argv;
	char *const *envp; /* NULL: environ */
	const char *cwd;   /* NULL: as it is */
	const void *input; /* stdin's bytes; none: /dev/null */
	size_t input_len;
	struct strbuf *out; /* NULL: inherited */
	struct strbuf *err; /* NULL: inherited */
	int timeout_ms;     /* 0: none; past it the program is killed */
	size_t max_output;  /* per stream; 0: 64 MiB */
	bool trace;         /* with SLURM_ON_OCS_TRACE=1 print the command, shell quoted, on stderr */
	int status;         /* result: wait status */
};

/* 0 when it ran and ended (whatever its status), -1 with err when it couldn't start or timed out. */
int spawn_run(struct spawn *s, struct error *err);
/* The status as a shell has it: exit code, or 128 + signal. */
int spawn_exit_code(int wait_status);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's clients: where they are, which engine it is, and how to run one. */
#ifndef SOC_OCS_ENGINE_H
#define SOC_OCS_ENGINE_H

#include "common/argvec.h"
#include "common/error.h"

#include <stdbool.h>

/*
 * Full path of a client (qsub, qstat, qconf, qdel, qmod, qrsh, ...), the real binary: $SGE_BINARY_PATH, else
 * $SGE_ROOT/bin/<arch>, else /usr/lib/gridengine (Debian's /usr/bin/q* are shell wrappers that cost 46 ms), else PATH.
 * Caller frees; NULL with err ("qsub: not found; set SGE_ROOT ...").
 */
char *engine_client(const char *name, struct error *err);

/*
 * $SGE_ROOT and $SGE_CELL; where they aren't set, what /etc/default/gridengine says and then what Debian's packages
 * use (/var/lib/gridengine and default). Caller frees; root is NULL with err where neither is there.
 */
char *engine_root(struct error *err);
char *engine_cell(void);

struct engine_answer {
	struct strbuf out, err;
	int code; /* exit code, or 128 + signal */
};

#define ENGINE_ANSWER_INIT                                                                                   \
	{                                                                                                    \
		STRBUF_INIT, STRBUF_INIT, 0                                                                  \
	}
#define cleanup_engine_answer cleanup(engine_answer_release)
void engine_answer_release(struct engine_answer *a);

/*
 * Runs client argv[0] (a bare name) with the rest of argv, at most timeout seconds, traced by SLURM_ON_OCS_TRACE=1.
 * envp NULL: this process's; SGE_ROOT and SGE_CELL are added where they are missing.
 * 0 when it ran (look at answer->code), -1 when it couldn't be run or didn't answer.
 */
int engine_run(const struct argvec *argv, char *const *envp, int timeout, struct engine_answer *answer,
	       struct error *err);
/* As engine_run, for a call whose output counts only when it succeeded: another exit code than 0 is -1, too. */
int engine_ask(const struct argvec *argv, int timeout, struct engine_answer *answer, struct error *err);
/* The first line of what a client said, its "Unable to run job: " and trailing dot taken off; in err, returns -1. */
int engine_refusal(const struct engine_answer *answer, struct error *err);
/* Did this client fail because qmaster wasn't there? */
bool engine_is_down(const struct engine_answer *answer);

struct engine_kind {
	bool has_par;     /* qsub -par: exact k per host with any PE (OCS 9.1.1+) */
	bool has_rsmap;   /* OCS */
	char version[64]; /* first line of `qsub -help` */
};

/*
 * Asked once per program run; the answer is cached in the user's spool folder by the client's path, size and mtime
 * (a cache that can't be read or written is no error).
 */
int engine_kind(struct engine_kind *kind, struct error *err);
/* What `qsub -help` printed, read. */
int engine_kind_parse(const char *help, struct engine_kind *kind, struct error *err);

#endif

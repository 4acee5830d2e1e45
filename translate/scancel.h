/* SPDX-License-Identifier: Apache-2.0 */
/* scancel's options as they were given, and its parts. */
#ifndef SOC_TRANSLATE_SCANCEL_H
#define SOC_TRANSLATE_SCANCEL_H

#include "translate/jobs.h"
#include "translate/opt.h"

struct scancel_options {
	char *account, *name, *nodes, *partition, *qos, *reservation, *user, *wckey, *clusters;
	bool batch, full, interactive, me, quiet, unchanged;
	int verbose;
	int signal;           /* 0: end the job */
	enum job_state state; /* JOB_STATES: any */
};

extern const struct opt_tool scancel_options;

void scancel_options_release(struct scancel_options *o);
/* Slurm's exit code is its error's number, modulo 256. */
enum {
	SCANCEL_DENIED = 2002 % 256,
	SCANCEL_PENDING = 2024 % 256,
};

/* Jobs that the engine has to delete, gathered so that one qdel does them all. */
struct engine_delete {
	struct argvec words; /* "7", "9.3", "9.4-8" */
};

/* A whole job, or these tasks of it. */
void engine_delete_add(struct engine_delete *d, const struct job *j);
/*
 * One qdel. Its answer is said in Slurm's words: an id that isn't there only where complain is set. The exit code.
 */
int engine_delete_run(struct engine_delete *d, int timeout, bool complain, bool quiet);
/* One line of qdel's: what it says of a job. */
enum delete_result { DELETE_DONE, DELETE_UNKNOWN, DELETE_DENIED, DELETE_OTHER };
enum delete_result delete_line(const char *line, uint64_t *job);

/*
 * A command to the supervisor of a running job or array element. True when it took it; false: nobody there (or an
 * array element whose supervisor can't be told apart).
 */
bool supervisor_tell(const struct conf *conf, const struct job *j, const char *const *verb);
/* Leaves in our records who cancelled j. */
void supervisor_record_cancel(const struct conf *conf, const struct job *j);
/* Is it a job of sbatch's that this user may talk to? */
bool supervisor_has(const struct job *j);

#endif

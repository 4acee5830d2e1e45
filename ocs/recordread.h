/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the records of ocs/record.h. What is read was written by users into a folder where everybody may make
 * files: a folder or file whose owner isn't the job's is ignored, so is a line that isn't a record of this job (a torn
 * last line, another version), and sizes are bounded.
 */
#ifndef SOC_OCS_RECORDREAD_H
#define SOC_OCS_RECORDREAD_H

#include "common/argvec.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define RECORD_UNSET (-1)

struct record_step {
	char *id; /* "0", "batch" ... */
	char *name, *command;
	struct argvec nodes;
	int64_t ntasks;    /* RECORD_UNSET */
	double start, end; /* 0: not yet */
	char *state;       /* NULL: runs */
	int64_t code, signal;
	double utime, stime;
	int64_t maxrss; /* KiB */
};

/* One run of a job or array element: a requeued job has several. */
struct record_run {
	uint32_t task, restart; /* task 0: no array */
	double start, end;      /* 0: not yet */
	char *host, *queue;
	struct argvec nodes;
	uint32_t *slots; /* of nodes; as many as nslots says */
	size_t nslots;
	int64_t pid;
	char *state; /* as record.h lists them; NULL: no end was written */
	int64_t code, signal;
	int64_t by;   /* uid that cancelled; RECORD_UNSET */
	char *reason; /* "JobLaunchFailure"; NULL */
	struct record_step *steps;
	size_t nsteps;
};

/* scancel's own line, written before it turned to the engine. */
struct record_cancel {
	uint32_t task; /* 0: the whole job */
	int64_t by;
	double time;
};

struct record_job {
	uint64_t id;
	uid_t uid;
	bool has_submit;
	double submit_time;
	char *name, *partition, *account, *qos, *comment, *user, *work_dir, *command, *std_out, *std_err,
		*spool;
	int64_t nodes, ntasks, cpus_per_task; /* RECORD_UNSET: not given */
	int64_t time_limit;                   /* s; RECORD_UNSET: none */
	int64_t time_min;                     /* s; 0: not given */
	int64_t begin, deadline;              /* s since the epoch; 0: none */
	int64_t nice;
	bool requeue;    /* may it be started again? */
	uint32_t *array; /* Slurm's index of engine task p is array[p-1] */
	size_t narray;
	uint32_t array_limit;    /* elements at a time; 0: no limit */
	char *dependency;        /* "afterok:7,after:8+5"; NULL: none */
	struct record_run *runs; /* by task, then restart */
	size_t nruns;
	struct record_cancel *cancels;
	size_t ncancels;
	double last_time; /* of any line */
};

void record_job_release(struct record_job *j);
/*
 * After the last line: an engine whose qmaster crashed gives some numbers a second time, and numbers begin again after
 * the last one. What is older than the last submission of the number was another job's.
 */
void record_forget_earlier(struct record_job *j);
/* One line into j. -1 when it is no record of job j->id; j is as before then. */
int record_parse_line(struct record_job *j, const char *line, size_t n);
/* The last run of task (0: no array); NULL. */
const struct record_run *record_last_run(const struct record_job *j, uint32_t task);
/* The cancel that concerns task; NULL. */
const struct record_cancel *record_cancel_of(const struct record_job *j, uint32_t task);
/* Slurm's index of engine task p; p itself where the record has no map. */
uint32_t record_array_index(const struct record_job *j, uint32_t p);
/* Engine task of Slurm's index; 0: there is none. */
uint32_t record_array_task(const struct record_job *j, uint32_t index);

/*
 * The folder of all records. accounting_dir is absent or NULL on a site that made none; then, and for jobs without
 * files there, the caller's own jobs are looked for in spool_root (may be NULL) /cluster.
 */
struct record_store;
struct record_store *record_store_new(const char *accounting_dir, const char *spool_root,
				      const char *cluster);
void record_store_free(struct record_store *s);

enum record_detail {
	RECORD_SUBMIT, /* enough for what was asked for; of an array no element's own file is read */
	RECORD_ALL,
};

/* The records of user's job id, borrowed from s; NULL when there are none. A later call with more detail reads on. */
const struct record_job *record_store_job(struct record_store *s, uid_t user, uint64_t id,
					  enum record_detail detail);
/*
 * Ids of user's jobs that may have a line written at or after since (look at last_time), newest id first; only the
 * newest RECORD_SCAN_MAX ids are looked at. Caller frees *ids.
 */
#define RECORD_SCAN_MAX 10000
void record_store_recent(struct record_store *s, uid_t user, time_t since, uint64_t **ids, size_t *n);
/* Users who have records. Caller frees *users. */
void record_store_users(struct record_store *s, uid_t **users, size_t *n);
/* The user whose records hold job id. false: nobody's. */
bool record_store_owner(struct record_store *s, uint64_t id, uid_t *owner);

#endif

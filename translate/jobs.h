/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as Slurm's commands see them: the engine's list joined with our records. A row is a job, an array element, or
 * what of an array has one state and no place yet ("7_[3-9]").
 */
#ifndef SOC_TRANSLATE_JOBS_H
#define SOC_TRANSLATE_JOBS_H

#include "common/hostlist.h"
#include "conf/conf.h"
#include "ocs/qstat.h"
#include "ocs/recordread.h"
#include "translate/job_ids.h"

#include <pwd.h>

/* Slurm's states, in its order of numbers; JOB_BASE_STATES of them are base states, the others flags. */
enum job_state {
	JOB_PENDING,
	JOB_RUNNING,
	JOB_SUSPENDED,
	JOB_COMPLETED,
	JOB_CANCELLED,
	JOB_FAILED,
	JOB_TIMEOUT,
	JOB_NODE_FAIL,
	JOB_PREEMPTED,
	JOB_BOOT_FAIL,
	JOB_DEADLINE,
	JOB_OUT_OF_MEMORY,
	JOB_BASE_STATES,
	JOB_COMPLETING = JOB_BASE_STATES,
	JOB_CONFIGURING,
	JOB_RESIZING,
	JOB_REVOKED,
	JOB_SPECIAL_EXIT,
	JOB_REQUEUED,
	JOB_REQUEUE_FED,
	JOB_REQUEUE_HOLD,
	JOB_RESV_DEL_HOLD,
	JOB_SIGNALING,
	JOB_STAGE_OUT,
	JOB_STOPPED,
	JOB_STATES,
};

const char *job_state_long(enum job_state s);    /* "PENDING" */
const char *job_state_compact(enum job_state s); /* "PD" */
/* By either name, any case; JOB_STATES: there is none. */
enum job_state job_state_parse(const char *text, size_t n);
bool job_state_is_over(enum job_state s);
/* What became of a job, as far as its records tell; run NULL: it never ran. */
enum job_state job_state_of_run(const struct record_job *r, const struct record_run *run);

struct job {
	uint64_t id; /* the engine's */
	bool is_array;
	uint32_t *positions; /* engine tasks; one for an element */
	size_t npositions;
	bool is_group;                   /* pending part of an array, shown as one row */
	const struct qstat_job *engine;  /* NULL: over */
	const struct record_job *record; /* NULL: none, or not readable */
	const struct record_run *run;    /* of an element, or of a job without array; NULL */
	enum job_state state;
	const char *reason; /* "None", "Priority" ... */
	const char *user;
	uid_t uid;
	char *partition;
	char *dependency; /* what it still waits for, as squeue shows it; NULL: no dependency */
	time_t submitted, started, ended; /* 0: unknown, or not yet; ended: also while it is COMPLETING */
	int64_t time_limit;               /* s; -1: none */
	uint32_t cpus, nodes;
};

struct jobs;

struct job_query {
	const char *users;              /* comma separated names for the engine; NULL: everybody */
	bool over;                      /* also those that are over: */
	time_t over_since;              /* that ended since then (0: MIN_JOB_AGE ago) ... */
	const struct job_ids *over_ids; /* ... or, whenever they ended, these; NULL */
	bool steps;                     /* read the steps of running jobs, too */
	bool partitions; /* the names of pending jobs' partitions are wanted even where that costs a call */
};

#define MIN_JOB_AGE 300 /* s that Slurm remembers a job that is over */

/* NULL with err when the engine doesn't answer. */
struct jobs *jobs_load(const struct conf *conf, const struct job_query *query, struct error *err);
void jobs_free(struct jobs *jobs);
struct job *jobs_rows(struct jobs *jobs, size_t *n);
time_t jobs_time(const struct jobs *jobs); /* when the engine was asked */
/*
 * Rows that are over without an end in our records get it from the engine's accounting: one call for each job that
 * needs it, so choose rows first.
 */
void jobs_complete(struct jobs *jobs);
/* Every group becomes a row per element. */
void jobs_expand(struct jobs *jobs);
/* Was there a job, or an array element, of this number within MIN_JOB_AGE, as far as the records tell? */
bool jobs_was_known(struct jobs *jobs, uint64_t id);
/* The uid of a user name, from a cache. (uid_t)-1: there is no such user. */
uid_t jobs_uid(struct jobs *jobs, const char *user);

/* Slurm's number of the row: an element's own id, else the engine's. */
uint64_t job_number(const struct job *j);
/* "7", "7_3", "7_[3-9%2]". Caller frees. */
char *job_name_of_id(const struct job *j);
/* "3", "3-9", "1,5,9"; NULL for a job without array. Caller frees. */
char *job_array_text(const struct job *j);
uint32_t job_index(const struct job *j); /* Slurm's index of an element */
/* Names of its hosts, Slurm's order. */
void job_hosts(const struct job *j, struct hostlist *out);
const char *job_title(const struct job *j); /* its name */
time_t job_eligible(const struct job *j);   /* the earliest start: --begin, else its submission */
uint32_t job_restarts(const struct job *j); /* one that waits to be started again counts already */
/* Does id name this row, or a part of it? */
bool job_has_id(const struct job *j, const struct job_id *id);

/* --- choosing rows --- */

struct job_filter {
	struct job_ids ids;
	struct argvec names, partitions, accounts, qos;
	struct hostlist nodes;
	uid_t *users;
	size_t nusers;
	uint32_t states; /* 1 << enum job_state; 0: all */
	bool has_ids, has_names, has_partitions, has_accounts, has_qos, has_nodes, has_users;
	bool nothing; /* by something that no job here has (a licence, a reservation) */
};

#define cleanup_job_filter cleanup(job_filter_release)
void job_filter_release(struct job_filter *f);
/* The comma separated words of text. */
void job_filter_words(struct argvec *out, const char *text);
/* Keeps the rows that match; a group of which only some elements were asked for becomes rows of these. */
void jobs_select(struct jobs *jobs, const struct job_filter *f);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dependencies of one job over its life: in its spool folder "dependency" (what it waits for), and in the folders
 * of its predecessors "dependents" and "dependents.start" (whose ends and starts concern it), one job id a line.
 */
#ifndef SOC_TRANSLATE_DEPEND_JOB_H
#define SOC_TRANSLATE_DEPEND_JOB_H

#include "conf/conf.h"
#include "ocs/spool.h"
#include "translate/depend_facts.h"

struct depend_job {
	struct depend list;
	bool kill;       /* a job that can never start is removed */
	char *name;      /* the engine's name of the job */
	uint64_t *alive; /* predecessors that the engine had at submission */
	size_t nalive;
	time_t begin; /* --begin; 0: none */
};

#define DEPEND_JOB_INIT                                                                                      \
	{                                                                                                    \
		.list = DEPEND_INIT                                                                          \
	}
#define cleanup_depend_job cleanup(depend_job_release)
void depend_job_release(struct depend_job *j);
/* The job's "dependency": 1 read, 0 it has none, -1 with err. */
int depend_job_read(struct depend_job *j, int spool_fd, struct error *err);
void depend_job_write(const struct depend_job *j, struct strbuf *out);
int depend_job_parse(struct depend_job *j, const char *text, struct error *err);

/* What the engine and the records say now. */
struct depend_view {
	const struct conf *conf;
	char *root; /* of the spool folders */
	struct qstat jobs;
	bool everybody; /* jobs holds all users' */
	struct record_store *store;
	char *user;
};

#define cleanup_depend_view cleanup(depend_view_release)
/* The caller's jobs; others' are asked for when a job waits for one. */
int depend_view_open(struct depend_view *v, const struct conf *conf, struct error *err);
void depend_view_release(struct depend_view *v);
/* The world of job self (0: not submitted yet), borrowed from v and j. */
int depend_view_world(struct depend_view *v, const struct depend_job *j, uint64_t self,
		      struct depend_world *w, struct error *err);

/* What qsub is told. */
struct depend_holds {
	char *jobs;   /* -hold_jid; NULL */
	char *arrays; /* -hold_jid_ad; NULL */
	time_t begin; /* -a; 0 */
	bool user;    /* -h: it can never start, and is about to be ended */
};

void depend_holds_release(struct depend_holds *h);
/* array: the job's indexes, n of them (0: no array). */
void depend_hold(const struct depend_job *j, struct depend_world *w, const uint32_t *array, size_t n,
		 struct depend_holds *h);

/* Makes the new job id known to its predecessors. */
void depend_register(const struct depend_view *v, const struct depend_job *j, uint64_t id);
/*
 * Lets job id go, delays or ends it (and what waits for it then), where that is decided already; else nothing
 * happens, since its -hold_jid and the look at its start (`dependency check`) see to it that it never runs wrongly.
 */
void depend_settle(struct depend_view *v, uint64_t id);
/* The same for each job in a file of a predecessor's folder. */
void depend_settle_waiting(struct depend_view *v, int spool_fd, const char *file);
/* The engine has lost the job, or will in a moment, and its record tells: v is to know that. */
void depend_view_forget(struct depend_view *v, uint64_t id);

#endif

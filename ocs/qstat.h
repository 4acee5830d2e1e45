/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's job list: one `qstat -xml` call, read by expat into plain structs. */
#ifndef SOC_OCS_QSTAT_H
#define SOC_OCS_QSTAT_H

#include "common/error.h"
#include "common/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct qstat_host {
	char *name;
	uint32_t slots;
	bool is_master;
};

/*
 * One entry a job, or a running array task, or what of an array pends. qstat -g t prints one element per slot (and
 * one more for the master); they are merged here.
 */
struct qstat_job {
	uint64_t id;
	char *tasks; /* "" no array; "3", or "1-7:2" and lists while pending */
	char *name;  /* the engine's name (full) */
	char *owner;
	char *state;      /* r qw hqw t s S T dr Eqw Rr ... */
	char *queue;      /* of the master task; NULL while pending */
	char *hard_queue; /* what was asked with -q; NULL */
	char *pe;         /* granted, else requested; NULL */
	uint32_t slots;   /* requested (the least of a range) or granted, whole job or task */
	double priority;
	int64_t time_limit; /* s, -l h_rt; -1: not asked for */
	char *predecessors; /* jobs that it still waits for (-hold_jid): "1,4"; NULL */
	bool is_running;    /* has a place: listed under queue_info */
	time_t submitted,
		started; /* 0: not told; 8.1.9 tells the first while pending, the second while running */
	struct qstat_host *hosts; /* granted, master first */
	size_t nhosts;
};

struct qstat {
	struct qstat_job *jobs;
	size_t n;
};

#define QSTAT_INIT                                                                                           \
	{                                                                                                    \
		NULL, 0                                                                                      \
	}
#define cleanup_qstat cleanup(qstat_release)

/*
 * Jobs of users ("*": everybody's; or names, comma separated), at most timeout s. states: qstat's -s ("hu": with a
 * user hold); NULL: all that aren't over. An engine that doesn't answer or answers garbage is -1.
 */
int qstat_list(struct qstat *q, const char *users, const char *states, int timeout, struct error *err);
/* The reader alone, for tests and fuzzing. */
int qstat_parse(struct qstat *q, const char *xml, size_t n, struct error *err);
void qstat_release(struct qstat *q);

/* Tasks of a pending array ("1-7:2", "1,4,6", "3") as task numbers, at most max. Caller frees *tasks. */
int qstat_tasks(const char *text, size_t max, uint32_t **tasks, size_t *n, struct error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's job list: one `qstat -xml` call, read by expat into plain structs. */
#ifndef SOC_OCS_QSTAT_H
#define SOC_OCS_QSTAT_H

#include "common/error.h"
#include "common/strbuf.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct qstat_host {
	char *name;
	uint32_t slots;
	int is_master;
};

struct qstat_job {
	uint64_t id;
	char *tasks;      /* "" no array; "3", or "1-7:2" and lists while pending */
	char *name;       /* the engine's name (full) */
	char *owner;
	char *state;      /* r qw hqw t s S T dr Eqw Rr ... */
	char *queue;      /* of the master task; NULL while pending */
	char *hard_queue; /* what was asked with -q; NULL */
	char *pe;         /* requested; NULL */
	uint32_t slots;   /* requested or granted, whole job */
	double priority;
	time_t submitted, started; /* 0: not yet */
	struct qstat_host *hosts;  /* granted, master first */
	size_t nhosts;
};

struct qstat {
	struct qstat_job *jobs;
	size_t n;
};

#define QSTAT_INIT { NULL, 0 }
#define cleanup_qstat cleanup(qstat_release)

/* Jobs of user ("*": everybody's), at most timeout s. An engine that doesn't answer or answers garbage is -1. */
int qstat_list(struct qstat *q, const char *user, int timeout, struct error *err);
/* The reader alone, for tests and fuzzing. */
int qstat_parse(struct qstat *q, const char *xml, size_t n, struct error *err);
void qstat_release(struct qstat *q);

#endif

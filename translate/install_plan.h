/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `slurm-on-ocs install` would change in a cell, worked out from what the cell has; no I/O. A plan holds nothing
 * that is there already, so that a second install does nothing. What isn't ours is an error, never changed.
 */
#ifndef SOC_TRANSLATE_INSTALL_PLAN_H
#define SOC_TRANSLATE_INSTALL_PLAN_H

#include "ocs/qconf.h"

#include <stdbool.h>

#define PLAN_MAX_SLOTS 1024 /* of one host in one queue: a PE each */

struct plan_pe {
	char *name;
	struct qconf_object object; /* for qconf -Ap */
};

struct plan_chain {
	char *path, *text; /* a script that calls the site's starter with ours */
};

struct plan_queue {
	char *name;
	char *pe_list[2], *starter[2]; /* before, after; the same: no change */
	struct plan_chain *chains;
	size_t nchains;
};

struct plan {
	struct plan_pe *pes;
	size_t npes;
	struct plan_queue *queues;
	size_t nqueues;
	struct argvec family; /* every PE name that the queues have to have */
};

#define PLAN_INIT                                                                                            \
	{                                                                                                    \
		0                                                                                            \
	}
#define cleanup_plan cleanup(plan_release)
void plan_release(struct plan *p);

/* The largest number of slots that a queue gives on a host ("4,[c1=8]": 8); -1 with err. */
long plan_queue_slots(const char *slots, struct error *err);
/*
 * A PE of ours. like: an object of this engine, whose attributes it gets (NULL: those of 8.1.9, or of OCS). Is an
 * existing one as ours has to be? *why names the first attribute that differs (borrowed).
 */
void plan_pe_object(const char *name, const char *rule, bool is_ocs, const struct qconf_object *like,
		    struct qconf_object *o);
bool plan_pe_is_right(const struct qconf_object *o, const char *rule, const char **why);

/* Adds the PE name with this rule; existing: the cell's of that name, or NULL. */
int plan_add_pe(struct plan *p, const char *name, const char *rule, bool is_ocs,
		const struct qconf_object *like, const struct qconf_object *existing, struct error *err);
struct plan_starter {
	const char *path;      /* ours */
	bool chain;            /* call the site's own first, instead of refusing */
	const char *chain_dir; /* where the scripts for that go */
};
/* Adds what the queue lacks; the family has to be complete. */
int plan_add_queue(struct plan *p, const char *name, const struct qconf_object *queue,
		   const struct plan_starter *s, struct error *err);
/* A queue's pe_list without our PEs (of a queue that was changed after the install). Caller frees; NULL with err. */
char *plan_without_family(const char *pe_list, const struct argvec *family, struct error *err);

#endif

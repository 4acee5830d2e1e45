/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to qsub's words. Pure: no I/O, the same input gives the same words. */
#ifndef SOC_TRANSLATE_EMIT_QSUB_H
#define SOC_TRANSLATE_EMIT_QSUB_H

#include "common/argvec.h"
#include "common/strbuf.h"
#include "translate/geometry.h"
#include "translate/request.h"

struct qsub_input {
	const struct request *request;
	const struct geometry *geometry;
	const char *queue;              /* the engine's, or several with commas; NULL: the engine chooses */
	const char *pe;                 /* NULL: none */
	const char *par;                /* argument of -par: "4", "$fill_up"; NULL: none */
	const char *name;               /* as asked for; the engine gets what it allows of it */
	int64_t h_rt;                   /* s; 0: none */
	const char *hold, *hold_arrays; /* -hold_jid, -hold_jid_ad; NULL: none */
	bool hold_user;                 /* -h, as --hold */
	int64_t not_before;             /* s since the epoch; 0: at once */
	const struct argvec *resources; /* "gpu=2": for -l; NULL: none */
	const char *hosts;              /* value of -l h=; NULL: any */
	const char *master;             /* the host of the first task; NULL: any */
	const char *reservation;        /* number of the engine's; NULL: none */
	const char *options;            /* file with more options (-@); NULL: none */
	const char *script;             /* path of the stub; NULL: verify only */
	bool unverified;                /* taken as it is, even where no host could run it now */
};

/* argv[0] is "qsub". */
void emit_qsub(const struct qsub_input *in, struct argvec *argv);

/* name without what the engine refuses in names ("/ : @ \ * ?", blanks, a digit in front). Caller frees. */
char *emit_job_name(const char *name);
/*
 * h_rt for a time limit (s): later than the supervisor's TERM and KILL, so that it only acts where the supervisor
 * can't. 0 for no limit.
 */
int64_t emit_h_rt(int64_t time_limit, uint32_t kill_wait);

/*
 * The public part of a request, for squeue and scontrol of everybody: JSON, base64url, as value of the job context
 * "soo". Keys: v, name, partition, account, comment, nodes ("2" or "2-4"), ntasks, cpus_per_task, time_limit (s), array
 * (as array_format has it), spool (uuid); only those that were given.
 */
char *emit_context(const struct request *r, const char *name, const char *spool);
/* Unpadded base64url (RFC 4648 section 5): no character that the engine takes for its own. */
void emit_base64url(struct strbuf *out, const void *data, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own records of jobs and steps: JSON lines, appended with one write(2) each, one file per job, run and host:
 *   <accounting_dir>/<uid>/<engine id>[.<task>].<host>.jsonl   (dir 0755 and file 0644, owned by the user)
 * or, where the site made no accounting folder, the same names in the job's spool folder. A reader ignores files
 * whose owner isn't the job's. Keys of every line: "v" 1, "event", "time" (s since the epoch, with fraction), "job"
 * (engine id), "task" (0: no array), "restart" (0..).
 *   submit      name, partition, account, qos, comment, user, uid, nodes, ntasks, cpus_per_task, time_limit,
 *               work_dir, command (no arguments: all may read this), std_out, std_err, array (index list), array_limit (of
 *               elements at a time; absent: none), spool (uuid), time_min, begin, deadline, nice, wckey (where they
 *               were given), requeue (0, 1), dependency (as
 *               --dependency has it, without what was met at the submission; absent: none)
 *   start       host, queue, nodes (list), slots (a number for each of nodes), pid
 *   step_start  step, name, nodes, ntasks, command
 *   step_end    step, state, code, signal, utime, stime, maxrss (rusage of the ranks; s, s, KiB)
 *   end         state, code, signal (of the script), by (uid of a cancel), reason. state: COMPLETED, FAILED, TIMEOUT
 *               (ended at its time limit), DEADLINE (--deadline; reason DeadLine: it came too late to start), REQUEUED
 *               (ended to be started again: another run follows, unless the job is deleted first), CANCELLED (we were
 *               asked to), or KILLED_BY_ENGINE: qdel, h_rt and a reschedule look the same from inside the job, so that
 *               one is neutral; a reader finds the state by a cancel line, a later restart's start line, or the engine's accounting. reason: JobLaunchFailure
 *               (FAILED, code 0, signal 53: the script was not started), DependencyNeverSatisfied (CANCELLED: neither;
 *               by whoever found it out, of an array as a whole in task 0); else absent
 *   cancel      by (uid): written by scancel before it turns to the engine
 */
#ifndef SOC_OCS_RECORD_H
#define SOC_OCS_RECORD_H

#include "common/error.h"
#include "common/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* --- writing: a JSON object, member by member, no library (the launcher stays small) --- */
struct record {
	struct strbuf json;
};

void record_begin(struct record *r, const char *event, uint64_t job, uint32_t task, uint32_t restart);
void record_str(struct record *r, const char *key,
		const char *value); /* NULL: null; bad UTF-8 becomes U+FFFD */
void record_int(struct record *r, const char *key, int64_t value);
void record_real(struct record *r, const char *key, double value);
void record_strings(struct record *r, const char *key, char *const *values, size_t n);
void record_numbers(struct record *r, const char *key, const uint32_t *values, size_t n);
void record_release(struct record *r);

/* Where this user's records of a job go: an open folder, from accounting_dir (may be NULL or absent) or spool_dir. */
int record_open_dir(const char *accounting_dir, const char *spool_dir, struct error *err);
/* Ends the object and appends it as one line to the job's file of this host below dirfd. */
int record_append(struct record *r, int dirfd, uint64_t job, uint32_t task, const char *host,
		  struct error *err);

#endif

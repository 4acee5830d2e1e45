/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's spool folder: <spool_dir>/<cluster>/<uuid>/, 0700, with "job", "script", "args", "env", and "control"
 * (written by the supervisor: where it listens and the key to prove oneself with; 0600). <spool_dir>/<cluster>/by-id/<engine id>
 * is a symlink "../<uuid>", made by sbatch after qsub and by the supervisor when it is missing.
 */
#ifndef SOC_OCS_SPOOL_H
#define SOC_OCS_SPOOL_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

struct spool {
	char *dir; /* absolute path of the job's folder */
	char uuid[37];
	int fd;          /* the folder, opened private (common/path.h) */
	uint64_t job_id; /* once linked, or opened by it; 0: not known */
};

#define SPOOL_INIT                                                                                           \
	{                                                                                                    \
		NULL, "", -1, 0                                                                              \
	}
#define cleanup_spool cleanup(spool_release)
void spool_release(struct spool *s);

/* root: conf_spool_dir(); cluster: conf.cluster_name ('/' refused). Makes the folders that are missing. */
int spool_create(struct spool *s, const char *root, const char *cluster, struct error *err);
/* Opens the folder at dir (absolute; must be private). */
int spool_open(struct spool *s, const char *dir, struct error *err);
/* The folder of engine job id below root/cluster. */
int spool_open_job(struct spool *s, const char *root, const char *cluster, uint64_t job_id,
		   struct error *err);
int spool_link_job(struct spool *s, uint64_t job_id, struct error *err);
/* Removes the folder, and its link where job_id is known. */
int spool_remove(struct spool *s, struct error *err);

/*
 * Housekeeping: removes the folders below root/cluster in which nothing changed for min_age s and whose job is_known()
 * denies, and links to nothing. job_id 0 stands for the job of a folder without a link. Does nothing when the last sweep is less than interval s
 * ago, and asks is_known() only for folders old enough. A failure leaves things as they are.
 */
typedef bool spool_known_fn(uint64_t job_id, void *arg);
void spool_sweep(const char *root, const char *cluster, int interval, int min_age, spool_known_fn *is_known,
		 void *arg);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What srun hands to `shim-launch step` on a memfd: one step request, binary (common/pack.h). The environment is the
 * one that the ranks start from (srun's own, filtered by --export); argv is the command.
 */
#ifndef SOC_OCS_STEPSPEC_H
#define SOC_OCS_STEPSPEC_H

#include "common/argvec.h"
#include "common/env.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define STEPSPEC_VERSION 1
#define STEPSPEC_UNSET UINT32_MAX

enum step_distribution { DIST_UNSET, DIST_BLOCK, DIST_CYCLIC, DIST_PLANE, DIST_ARBITRARY };

struct stepspec {
	struct argvec argv;
	struct env env;
	char *cwd;   /* srun's cwd: relative output files are relative to it */
	char *chdir; /* --chdir for the ranks; NULL: cwd */
	char *name;  /* --job-name; NULL: basename of the command */

	uint32_t min_nodes, max_nodes, ntasks, cpus_per_task, ntasks_per_node; /* STEPSPEC_UNSET: not given */
	uint32_t relative;
	uint8_t distribution; /* enum step_distribution */
	bool pack;            /* -m ...,pack */
	uint32_t plane_size;
	char *nodelist, *exclude;
	bool overcommit, exact, overlap, immediate;

	char *std_in, *std_out, *std_err; /* as given; NULL: Slurm's default */
	uint8_t open_mode;                /* 'a', 't', 0 */
	bool label, unbuffered;
	int8_t kill_on_bad_exit;      /* -1: the site's default */
	uint32_t wait;                /* --wait, s; 0: none */
	bool no_kill, disable_status; /* -k, -X */
	int8_t verbosity;             /* -1 quiet, 0, 1 ... */
	int64_t time_limit;           /* s; DURATION_INFINITE */
	bool propagate_umask;
	uint32_t umask;
};

#define cleanup_stepspec cleanup(stepspec_release)

void stepspec_init(struct stepspec *s);
void stepspec_release(struct stepspec *s);
void stepspec_pack(const struct stepspec *s, struct strbuf *out);
int stepspec_unpack(struct stepspec *s, const void *data, size_t n, struct error *err);

#endif

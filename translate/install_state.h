/* SPDX-License-Identifier: Apache-2.0 */
/* What install changed and what was there before: <cell>/common/slurm-on-ocs/installed.json. */
#ifndef SOC_TRANSLATE_INSTALL_STATE_H
#define SOC_TRANSLATE_INSTALL_STATE_H

#include "translate/install_plan.h"

struct state_queue {
	char *name;
	char *pe_list[2], *starter[2]; /* before, after */
};

struct install_state {
	struct argvec pes;    /* those that install added */
	struct argvec family; /* those that the queues were given */
	struct argvec files;  /* scripts of --chain */
	struct state_queue *queues;
	size_t nqueues;
	char *made_dir; /* the accounting folder, where install made it; NULL */
};

#define INSTALL_STATE_INIT                                                                                   \
	{                                                                                                    \
		0                                                                                            \
	}
#define cleanup_install_state cleanup(install_state_release)
void install_state_release(struct install_state *s);

/* 0, and *found says whether there is one. */
int install_state_read(struct install_state *s, const char *file, bool *found, struct error *err);
/* Whole or not at all: written beside, then renamed. */
int install_state_write(const struct install_state *s, const char *file, struct error *err);
/* Takes the plan in: what was before stays what was before the first install. */
void install_state_add(struct install_state *s, const struct plan *p);

#endif

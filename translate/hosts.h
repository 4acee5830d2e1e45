/* SPDX-License-Identifier: Apache-2.0 */
/* --nodelist and --exclude in the engine's words. Pure. */
#ifndef SOC_TRANSLATE_HOSTS_H
#define SOC_TRANSLATE_HOSTS_H

#include "common/argvec.h"
#include "translate/geometry.h"

struct host_choice {
	char *request; /* value of -l h=; NULL: any host */
	char *master;  /* the one host that a larger job must have: its first; NULL */
};

void host_choice_release(struct host_choice *c);

/*
 * allowed: the only ones that will do; NULL: all.
 * known: the engine's execution hosts (qconf -sel). Short names are found among long ones, as Slurm shows short ones.
 * -1 with Slurm's words for hosts that aren't there, or ours where the engine can't have it.
 */
int hosts_choose(struct host_choice *c, const struct request *r, const struct geometry *g,
		 const struct argvec *known, const struct argvec *allowed, struct error *err);

#endif

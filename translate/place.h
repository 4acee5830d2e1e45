/* SPDX-License-Identifier: Apache-2.0 */
/* Where a request goes: queue, PE and geometry, with the engine's help. */
#ifndef SOC_TRANSLATE_PLACE_H
#define SOC_TRANSLATE_PLACE_H

#include "conf/conf.h"
#include "ocs/engine.h"
#include "translate/geometry.h"
#include "translate/hosts.h"
#include "translate/pe.h"
#include "translate/resources.h"

struct place {
	char *queue; /* the engine's queues, with commas; NULL: the engine chooses */
	char *pe;    /* NULL: none is needed */
	char par[16];
	struct geometry geometry;
	uint32_t widest, narrowest;    /* slots of the largest and the smallest host; 0: not asked */
	struct complex_list complexes; /* of the cell; empty where nothing needed them */
	struct resources resources;
	struct host_choice hosts;
	struct argvec unattached; /* PEs that no queue in question offers */
};

#define PLACE_INIT                                                                                           \
	{                                                                                                    \
		.resources = RESOURCES_INIT                                                                  \
	}
#define cleanup_place cleanup(place_release)
void place_release(struct place *p);

/* dir: the cluster's spool folder. -1 with one line that says what is missing, or Slurm's words. */
int place_choose(struct place *p, const struct conf *conf, const struct request *r, const char *dir,
		 struct error *err);
/*
 * After the engine found no suitable queue: does any queue offer p->pe? 0: another PE was chosen, which gives the same
 * geometry; 1: it is offered, the reason is another; -1 with err: no other PE, and how to add it to the queue.
 */
int place_other_pe(struct place *p, const struct conf *conf, const struct request *r, const char *dir,
		   struct error *err);
/* Slots of the hosts that have most and fewest, in queue (NULL: in any). */
int place_widths(const char *queue, int timeout, uint32_t *widest, uint32_t *narrowest, struct error *err);
/* The same from what `qstat -f` printed. */
void place_widths_parse(const char *text, uint32_t *widest, uint32_t *narrowest);

#endif

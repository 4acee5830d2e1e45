/* SPDX-License-Identifier: Apache-2.0 */
/* Where a request goes: queue, PE and geometry, with the engine's help. */
#ifndef SOC_TRANSLATE_PLACE_H
#define SOC_TRANSLATE_PLACE_H

#include "conf/conf.h"
#include "ocs/engine.h"
#include "translate/geometry.h"
#include "translate/pe.h"

struct place {
	char *queue; /* the engine's queues, with commas; NULL: the engine chooses */
	char *pe;    /* NULL: none is needed */
	char par[16];
	struct geometry geometry;
	uint32_t widest; /* slots of the largest host; 0: not asked */
};

#define PLACE_INIT                                                                                           \
	{                                                                                                    \
		0                                                                                            \
	}
#define cleanup_place cleanup(place_release)
void place_release(struct place *p);

/* dir: the cluster's spool folder. -1 with one line that says what is missing, or Slurm's words. */
int place_choose(struct place *p, const struct conf *conf, const struct request *r, const char *dir,
		 struct error *err);
/* Slots of the host that has most, in queue (NULL: in any). */
int place_widest(const char *queue, int timeout, uint32_t *slots, struct error *err);
/* The same from what `qstat -f` printed. */
uint32_t place_widest_parse(const char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From tasks, nodes and CPUs to hosts and slots: k = slots per host = tasks on the host x CPUs per task. Uneven
 * requests are rounded up to k on each host. Pure.
 */
#ifndef SOC_TRANSLATE_GEOMETRY_H
#define SOC_TRANSLATE_GEOMETRY_H

#include "translate/request.h"

struct geometry {
	uint32_t per_host;             /* k; 0: any, hosts are filled up one after the other */
	uint32_t min_hosts, max_hosts; /* with k */
	uint64_t min_slots, max_slots; /* of the whole job; in steps of k */
};

/*
 * Does it depend on how many slots a host has? Then geometry_plan() wants to know the widest host.
 * may_fill: there is a PE that fills hosts up one after the other.
 */
bool geometry_needs_width(const struct request *r, bool may_fill);
/*
 * widest: slots of the largest host; 0: not known.
 * -1 with Slurm's words when no host could ever have k slots, or the options contradict each other.
 */
int geometry_plan(const struct request *r, uint32_t widest, bool may_fill, struct geometry *g,
		  struct error *err);
/* Neither a PE nor anything else: one slot on one host. */
bool geometry_is_serial(const struct geometry *g);
/* What Slurm says of a geometry that no host has, given the widest host (0: not known). Returns -1. */
int geometry_refuse(const struct request *r, uint32_t widest, struct error *err);

#endif

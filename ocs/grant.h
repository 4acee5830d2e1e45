/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ids of a resource map (RSMAP) the engine granted, from the text of `qstat -j JOB`:
 *   resource_map                1:   gpu=node3=(0 1),gpu=node1=(0),fpga=node3=(a)
 * The number is the array task's (1 for a job without tasks). The job's own SGE_HGR_* can't be used: on every host they
 * name what the last host got.
 */
#ifndef SOC_OCS_GRANT_H
#define SOC_OCS_GRANT_H

#include "common/strbuf.h"

#include <stdint.h>

/* Appends the ids of map on host, with commas, to out; how many there are. Ids are taken as they stand. */
uint32_t grant_ids(const char *text, uint32_t task, const char *map, const char *host, struct strbuf *out);

#endif

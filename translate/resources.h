/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory, GPUs, generic resources, licenses, features and whole hosts as requests of the engine's complexes. What the
 * cell can't express is an error that names the complex that is missing, or a warning where something useful is left.
 * Pure: it gets the cell's complexes.
 */
#ifndef SOC_TRANSLATE_RESOURCES_H
#define SOC_TRANSLATE_RESOURCES_H

#include "common/argvec.h"
#include "conf/conf.h"
#include "ocs/complex.h"
#include "translate/geometry.h"

struct resources {
	struct argvec requests; /* "gpu=2": arguments of -l */
	struct argvec warnings; /* a sentence each */
	/*
	 * Alternatives of several complexes ("a=TRUE|b=TRUE"), which -l can't say: the caller looks for hosts that have
	 * one of each item, and asks for these.
	 */
	struct argvec any_of;
	struct strbuf gpu_maps; /* complexes whose granted ids are the job's GPUs, with commas */
	const char *memory;     /* name of the complex for memory; borrowed from the complexes; NULL */
	const char *tmp;        /* the same for --tmp */
};

#define RESOURCES_INIT                                                                                       \
	{                                                                                                    \
		ARGVEC_INIT, ARGVEC_INIT, ARGVEC_INIT, STRBUF_INIT, NULL, NULL                               \
	}
#define cleanup_resources cleanup(resources_release)
void resources_release(struct resources *out);

/* Does r ask for anything that needs the cell's complexes? */
bool resources_needed(const struct request *r);
/* Does something that r asks for need the same number of slots on each host? */
bool resources_need_hosts(const struct request *r, const struct conf *conf, const struct complex_list *l);
/* The complex that --exclusive asks for; NULL with err (unless it is NULL) where the cell has none. */
const struct complex *resources_exclusive(const struct conf *conf, const struct complex_list *l,
					  struct error *err);
int resources_plan(struct resources *out, const struct request *r, const struct geometry *g,
		   const struct conf *conf, const struct complex_list *l, struct error *err);

#endif

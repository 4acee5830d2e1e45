/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parallel environment (PE) of the engine gives a geometry. The installer's are known by their names,
 * "<family>.<k>" and "<family>.fill" (on engines with -par just "<family>"); others are asked for their allocation rule. What was found is cached.
 */
#ifndef SOC_TRANSLATE_PE_H
#define SOC_TRANSLATE_PE_H

#include "common/argvec.h"
#include "common/error.h"
#include "translate/geometry.h"

struct pe {
	char *name;
	char *rule;   /* "4", "$fill_up" ...; NULL: not asked yet */
	bool is_ours; /* of the family */
	bool control; /* control_slaves TRUE: steps can be started on the other hosts */
};

struct pe_list {
	struct pe *v;
	size_t n;
};

#define PE_LIST_INIT                                                                                         \
	{                                                                                                    \
		NULL, 0                                                                                      \
	}
#define cleanup_pe_list cleanup(pe_list_release)
void pe_list_release(struct pe_list *l);
/* Adds a PE that is known by its name alone; the rule of one of the family is in the name. */
void pe_list_add(struct pe_list *l, const char *name, const char *family);

struct pe_choice {
	const char *name; /* borrowed from the list */
	char par[16];     /* argument of -par; "": none */
};

/*
 * The best PE of l for g. forced: the site's choice for the partition, or NULL. has_par: the engine takes -par.
 * unattached: names of PEs to pass over. -1 when none fits (PEs without a rule don't).
 */
int pe_choose(const struct pe_list *l, const struct geometry *g, const char *forced, bool has_par,
	      const struct argvec *unattached, struct pe_choice *choice);
/* Is there one that fills hosts up? */
bool pe_can_fill(const struct pe_list *l, const char *forced, bool has_par, const struct argvec *unattached);

/* --- with the engine and the cache; dir: the cluster's spool folder, where the cache is --- */

/* From the cache if it is young enough and !fresh, else from the engine. */
int pe_list_load(struct pe_list *l, const char *dir, const char *family, bool fresh, struct error *err);
/* Asks the engine for the rules that aren't known yet, and keeps them in the cache. */
int pe_list_complete(struct pe_list *l, const char *dir, struct error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's configuration objects as `qconf -s*` prints them ("attribute value", backslash-newline goes on). */
#ifndef SOC_OCS_QCONF_H
#define SOC_OCS_QCONF_H

#include "common/argvec.h"
#include "common/error.h"

#include <stdbool.h>

struct qconf_object {
	struct argvec names, values; /* in the engine's order */
};

#define QCONF_OBJECT_INIT                                                                                    \
	{                                                                                                    \
		ARGVEC_INIT, ARGVEC_INIT                                                                     \
	}
#define cleanup_qconf_object cleanup(qconf_object_release)
void qconf_object_release(struct qconf_object *o);

#define QCONF_TIMEOUT 60 /* s for one call */

/* option: "-sp", "-sq", "-sconf", "-se"...; name may be NULL. -1 with the engine's words when there is none such. */
int qconf_show(const char *option, const char *name, struct qconf_object *o, struct error *err);
int qconf_parse(const char *text, struct qconf_object *o, struct error *err);
const char *qconf_get(const struct qconf_object *o, const char *attribute); /* borrowed; NULL */
void qconf_set(struct qconf_object *o, const char *attribute, const char *value);
void qconf_format(const struct qconf_object *o, struct strbuf *out);
/* Lines of a list call such as -spl, -sql, -sel. */
int qconf_list(const char *option, struct argvec *out, struct error *err);
/* Gives o to the engine through a file: option "-Ap", "-Mp", "-Aq", "-Mq". */
int qconf_store(const char *option, const struct qconf_object *o, struct error *err);
/* Any other call; what qconf says is in err when it fails. */
int qconf_do(const char *option, const char *name, struct error *err);

/*
 * A queue's values may differ per host or host group: "a,[c1=b],[@big=c d]". The value is cut into a part for all
 * (names.v[0] is "") and one per host.
 */
int qconf_split_hosts(const char *value, struct qconf_object *parts, struct error *err);
/* The opposite. Caller frees. */
char *qconf_join_hosts(const struct qconf_object *parts);

/* Lists such as pe_list ("make smp", "NONE", "make,smp"): is word in it? The list with word added, or taken out. */
bool qconf_list_has(const char *list, const char *word);
char *qconf_list_add(const char *list, const char *word);
char *qconf_list_remove(const char *list, const char *word);

#endif

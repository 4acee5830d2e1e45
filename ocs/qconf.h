/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's configuration objects as `qconf -s*` prints them ("attribute value", backslash-newline goes on). */
#ifndef SOC_OCS_QCONF_H
#define SOC_OCS_QCONF_H

#include "common/argvec.h"
#include "common/error.h"

struct qconf_object {
	struct argvec names, values; /* in the engine's order */
};

#define QCONF_OBJECT_INIT { ARGVEC_INIT, ARGVEC_INIT }
#define cleanup_qconf_object cleanup(qconf_object_release)
void qconf_object_release(struct qconf_object *o);

/* option: "-sp", "-sq", "-sconf", "-se"...; name may be NULL. -1 with the engine's words when there is none such. */
int qconf_show(const char *option, const char *name, struct qconf_object *o, struct error *err);
int qconf_parse(const char *text, struct qconf_object *o, struct error *err);
const char *qconf_get(const struct qconf_object *o, const char *attribute); /* borrowed; NULL */
void qconf_set(struct qconf_object *o, const char *attribute, const char *value);
void qconf_format(const struct qconf_object *o, struct strbuf *out);
/* Lines of a list call such as -spl, -sql, -sel. */
int qconf_list(const char *option, struct argvec *out, struct error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* An environment as data: "NAME=value" strings, kept byte for byte, in order. Values may hold any byte but NUL. */
#ifndef SOC_COMMON_ENV_H
#define SOC_COMMON_ENV_H

#include "common/argvec.h"
#include "common/error.h"

#include <stdbool.h>

struct env {
	struct argvec vars; /* vars.v is an envp */
};

#define ENV_INIT                                                                                             \
	{                                                                                                    \
		ARGVEC_INIT                                                                                  \
	}
#define cleanup_env cleanup(env_release)

void env_release(struct env *e);
void env_add_all(struct env *e, char *const *envp);         /* appends copies, no look-up of doubles */
const char *env_get(const struct env *e, const char *name); /* borrowed; NULL when absent */
void env_set(struct env *e, const char *name, const char *value);
void env_setf(struct env *e, const char *name, const char *fmt, ...) PRINTF(3, 4);
void env_unset(struct env *e, const char *name); /* doubles too */
void env_unset_prefix(struct env *e, const char *prefix);
/* A copy of every variable of src into e, replacing. */
void env_merge(struct env *e, const struct env *src);
/* NUL separated form: "A=1\0B=2\0". */
void env_pack(const struct env *e, struct strbuf *out);
int env_unpack(struct env *e, const char *data, size_t n, struct error *err);
/* Is name[0..n) a name that a shell can set? */
bool env_is_name(const char *name, size_t n);

#endif

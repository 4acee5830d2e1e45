/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the user's login shell, which --export=NONE, a list of names and --get-user-env start from. */
#ifndef SOC_TRANSLATE_LOGIN_ENV_H
#define SOC_TRANSLATE_LOGIN_ENV_H

#include "common/env.h"

/*
 * Runs the user's shell as a login shell in an empty environment, here on the submit host (Slurm does it on the job's
 * first host). -1 when it has no answer within timeout s, or is no shell (nologin).
 */
int login_environment(struct env *out, int timeout, struct error *err);
/* The part behind the marker of what such a shell printed. */
int login_environment_parse(struct env *out, const char *text, size_t n, struct error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a user's login shell. */
#ifndef SOC_COMMON_LOGIN_ENV_H
#define SOC_COMMON_LOGIN_ENV_H

#include "common/env.h"

/*
 * Runs account's SHELL as a login shell with nothing but account's HOME, USER, LOGNAME and SHELL. -1 when it has no answer
 * within timeout s, or is no shell (nologin).
 */
int login_environment(struct env *out, const struct env *account, int timeout, struct error *err);
/* The part behind the marker of what such a shell printed. */
int login_environment_parse(struct env *out, const char *text, size_t n, struct error *err);

#endif

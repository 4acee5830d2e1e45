/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's time limits and durations. */
#ifndef SOC_COMMON_DURATION_H
#define SOC_COMMON_DURATION_H

#include "common/error.h"

#include <stdint.h>

#define DURATION_INFINITE INT64_MAX

/*
 * A time limit as --time takes it: minutes, m:s, h:m:s, d-h, d-h:m, d-h:m:s, INFINITE, UNLIMITED, -1, 0 (both
 * unlimited). *seconds is rounded up to whole minutes as Slurm does. -1 where Slurm says "Invalid --time
 * specification" (err->text then is only the reason; the caller words the message).
 */
int duration_parse(const char *text, int64_t *seconds, struct error *err);
/* "UNLIMITED", or [D-]HH:MM:SS as scontrol prints it. Caller frees. */
char *duration_format(int64_t seconds);
/* squeue's %M and %l: M:SS, H:MM:SS, D-HH:MM:SS. Caller frees. */
char *duration_format_short(int64_t seconds);

#endif

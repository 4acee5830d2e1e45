/* SPDX-License-Identifier: Apache-2.0 */
/* Advance reservations of the engine, which Slurm's users know by name. */
#ifndef SOC_TRANSLATE_RESERVATION_H
#define SOC_TRANSLATE_RESERVATION_H

#include "common/error.h"

/* The engine's number of the reservation with that name or number, as text (caller frees). NULL with Slurm's words. */
char *reservation_find(const char *name, int timeout, struct error *err);
/*
 * The next number out of what `qrstat -u '*'` printed that may be it (caller frees), *text being moved behind its line.
 * The list shows ten characters of a name: a longer one must be looked at. NULL: there is none any more.
 */
char *reservation_parse(const char **text, const char *name);

#endif

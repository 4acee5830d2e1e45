/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people write them. */
#ifndef SOC_COMMON_WHEN_H
#define SOC_COMMON_WHEN_H

#include <time.h>

/*
 * The grammar of Slurm's --begin and --deadline: now[+-N[seconds|minutes|hours|days|weeks]], today, tomorrow, midnight,
 * noon, fika, teatime, HH:MM[:SS] [AM|PM], MMDD[YY], MM/DD[/YY], MM.DD[.YY], YYYY-MM-DD[THH:MM[:SS]], utsSECONDS. A time
 * without a date is the next such time, a date without a time its midnight. 0 with *out; -1 with *pos being where Slurm
 * says that it stopped ("Invalid time specification (pos=4)"). *out is 0 for a text that names no time ("").
 */
int when_parse(const char *text, time_t now, time_t *out, int *pos);

#endif

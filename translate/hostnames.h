/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `scontrol show hostnames|hostlist|hostlistsorted`: words, streams and exit codes as Slurm 22.05 has them
 * (tests/golden/hostlist). No configuration, no engine: this is the call in everybody's job script.
 */
#ifndef SOC_TRANSLATE_HOSTNAMES_H
#define SOC_TRANSLATE_HOSTNAMES_H

#include <stdbool.h>

/*
 * argv: scontrol's words after its own options, "show" first. When they are `show` (3 letters or more, any case) and
 * one of the three entities (hostn..., hostl..., hostlists...), answers the command, sets *exit_code and returns true;
 * every other command returns false, untouched. Prints by itself: names or list on stdout, complaints on stderr.
 * usage prints scontrol's help on stdout, which `show hostlist` without a list does.
 */
bool hostnames_show(int argc, char *const *argv, void (*usage)(void), int *exit_code);

#endif

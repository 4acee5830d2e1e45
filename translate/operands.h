/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines whose words and options come in any order: `scancel 7 --signal USR1` (squeue, scancel, scontrol). */
#ifndef SOC_TRANSLATE_OPERANDS_H
#define SOC_TRANSLATE_OPERANDS_H

#include "common/argvec.h"
#include "translate/opt.h"

/* As opt_parse_cli, to the end of argv; words gets what is no option, in order. Behind "--" all are words. */
int operands_parse(struct opt_run *run, int argc, char **argv, struct argvec *words, struct error *err);

#endif

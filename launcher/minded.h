/* SPDX-License-Identifier: Apache-2.0 */
/* Our end of the pipe to the minder above us (launcher/minder.c). */
#ifndef SOC_LAUNCHER_MINDED_H
#define SOC_LAUNCHER_MINDED_H

#include <sys/types.h>

/* First of all in main(): takes the descriptor over, so that no child and no environment of ours has it. */
void minded_attach(void);
/* pid is the script: should we die, the minder waits for it. */
void minded_tell(pid_t script);
/* Our exit code 99 is meant: the engine is to start the job again. */
#define MINDED_REQUEUE_CODE 99
void minded_requeue(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* shim-launch ROLE ...: the launcher's roles in one small static program. */
#include "common/log.h"
#include "launcher/minded.h"
#include "launcher/steps.h"

#include <string.h>

static const struct role {
	const char *name;
	const char *log_name; /* the name that a user knows the speaker by */
	int (*run)(int argc, char **argv);
} roles[] = {
	{ "batch", "slurmstepd", batch_main }, /* job supervisor: batch SPOOLDIR */
	{ "agent", "slurmstepd", agent_main }, /* per host and job, started by qrsh -inherit */
	{ "step", "srun", step_main },         /* srun's side of a step: step FD */
	{ "ctl", "scancel", ctl_main },        /* ctl SPOOLDIR VERB ...: a command to a running job */
	{ "guard", "slurmstepd",
	  guard_main }, /* guard PID: started by the minder when one of the above has died */
};

int main(int argc, char **argv)
{
	minded_attach();
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(roles); i++) {
		if (strcmp(argv[1], roles[i].name))
			continue;
		log_open(roles[i].log_name, LOG_NORMAL);
		return roles[i].run(argc - 1, argv + 1);
	}
	log_open("shim-launch", LOG_NORMAL);
	log_error(
		"usage: shim-launch batch|agent|step|ctl ...; it is started by sbatch, srun and scancel, not by hand");
	return 1;
}

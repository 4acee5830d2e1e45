/* SPDX-License-Identifier: Apache-2.0 */
/* `slurm-on-ocs install` and `uninstall`: options and parts. */
#ifndef SOC_TRANSLATE_INSTALL_H
#define SOC_TRANSLATE_INSTALL_H

#include "conf/conf.h"
#include "translate/install_state.h"
#include "translate/opt.h"

struct install_options {
	struct argvec queues; /* none: all of the cell */
	bool apply, chain, version;
};

extern const struct opt_tool install_options;

/* Where things are in this cell. */
struct install_paths {
	char *dir;   /* <cell>/common/slurm-on-ocs */
	char *state; /* its installed.json */
	char *starter;
};

#define INSTALL_PATHS_INIT                                                                                   \
	{                                                                                                    \
		NULL, NULL, NULL                                                                             \
	}
#define cleanup_install_paths cleanup(install_paths_release)
void install_paths_release(struct install_paths *p);
int install_paths_find(struct install_paths *p, struct error *err);
/* Fails with a clear text where this user is no manager of the cell. */
int install_check_manager(struct error *err);

/* Each prints its plan, and with o->apply does it. */
int install_run(const struct install_options *o, const struct conf *conf, struct error *err);
int uninstall_run(const struct install_options *o, const struct conf *conf, struct error *err);

#endif

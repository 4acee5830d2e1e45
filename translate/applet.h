/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The multi-call program: one applet per command. To add one: define `const struct applet <name>_applet` in its own
 * file, and add a line to translate/applets.def and its sources to translate/module.mk.
 */
#ifndef SOC_TRANSLATE_APPLET_H
#define SOC_TRANSLATE_APPLET_H

#include "conf/conf.h"
#include "translate/opt.h"

struct applet {
	const char *name;
	/*
	 * Returns the exit code. argv[0] is the name as called. Answers go to stdout by stdio (main flushes, reports a
	 * failed write and turns it into exit 1), all else to stderr by common/log.h, opened with the applet's name.
	 */
	int (*run)(int argc, char **argv);
	const struct opt_tool *options; /* NULL: has none of its own */
};

#define APPLET(name) extern const struct applet name##_applet;
#include "translate/applets.def"
#undef APPLET

/* By name; NULL when there is none. */
const struct applet *applet_find(const char *name);
/* All, in applets.def's order; NULL past the end. */
const struct applet *applet_at(size_t i);
/*
 * The site's configuration, loaded once and kept for the process. A broken file is printed as
 * "<applet>: fatal: <file>:<line>: ..." and ends the process with exit 1.
 */
const struct conf *applet_conf(void);
/* Sends what was printed so far on its way; main reports it when that fails. */
void applet_flush(void);
/* errno of the first write to stdout that failed in applet_flush(); 0: none. */
int applet_flush_error(void);
/* What --version prints behind "slurm "; a broken configuration doesn't matter here. */
const char *applet_version(void);

#endif

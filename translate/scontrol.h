/* SPDX-License-Identifier: Apache-2.0 */
/* scontrol's options, and its parts. */
#ifndef SOC_TRANSLATE_SCONTROL_H
#define SOC_TRANSLATE_SCONTROL_H

#include "translate/job_fields.h"
#include "translate/opt.h"

struct scontrol_options {
	bool all, details, oneliner, quiet, unchanged;
	char *clusters, *uid;
	int verbose;
};

extern const struct opt_tool scontrol_options;

/* `show job [id]`. The exit code. */
int scontrol_show_job(const struct scontrol_options *o, const char *id);
/* `show step` has no other words than these; `hold`, `uhold`, `release` WORD. The exit code. */
enum hold_action { HOLD_ANY, HOLD_USER, HOLD_RELEASE };
int scontrol_hold(const struct scontrol_options *o, enum hold_action action, const char *word);
/* `requeue`, `requeuehold` (hold) WORD: ids with commas between. The exit code. */
int scontrol_requeue(const char *word, bool hold);
/* One job as scontrol prints it. */
void scontrol_format_job(const struct job_view *v, const struct scontrol_options *o, struct strbuf *out);

#endif

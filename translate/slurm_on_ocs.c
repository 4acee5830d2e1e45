/* SPDX-License-Identifier: Apache-2.0 */
/* `slurm-on-ocs`: what an administrator does with a cell. */
#include "common/log.h"
#include "translate/applet.h"
#include "translate/install.h"
#include "translate/operands.h"

#include <string.h>

#define FIELD(member) OPT_FIELD(struct install_options, member)

static int parse_queue(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	argvec_push(ctx->field, ctx->value);
	return 0;
}

static const struct opt_row rows[] = {
	{ .name = "apply",
	  .help = "do it; without this the plan is printed, and nothing is changed",
	  .parse = opt_parse_flag,
	  FIELD(apply) },
	{ .name = "chain",
	  .help = "call a queue's own starter_method first, with ours as its command",
	  .parse = opt_parse_flag,
	  FIELD(chain) },
	{ .name = "help", .key = 'h', .help = "show this help", .parse = opt_parse_help },
	{ .name = "queue",
	  .key = 'q',
	  .arg = required_argument,
	  .metavar = "name",
	  .help = "queue to set up, given once for each; all of the cell without it",
	  .parse = parse_queue,
	  FIELD(queues) },
	{ .name = "version",
	  .key = 'V',
	  .help = "show the version",
	  .parse = opt_parse_flag,
	  FIELD(version) },
};

const struct opt_tool install_options = {
	.name = "slurm-on-ocs",
	.rows = rows,
	.nrows = ARRAY_SIZE(rows),
	.synopsis = "install|uninstall|version [OPTIONS...]",
	.usage_code = 1,
};

static int run_command(const struct install_options *o, const struct argvec *words)
{
	const char *command = words->n ? words->v[0] : "";
	struct error err = ERROR_INIT;
	int rc;

	if (words->n > 1) {
		log_error("%s: one command at a time", words->v[1]);
		return 1;
	}
	if (o->version || !strcmp(command, "version")) {
		puts("slurm-on-ocs " VERSION);
		return 0;
	}
	if (!strcmp(command, "install")) {
		rc = install_run(o, applet_conf(), &err);
	} else if (!strcmp(command, "uninstall")) {
		if (o->queues.n || o->chain) {
			log_error(
				"uninstall takes back all that install did; it has no --queue and no --chain");
			return 1;
		}
		rc = uninstall_run(o, applet_conf(), &err);
	} else {
		log_error("%s%sinstall, uninstall or version is wanted; see slurm-on-ocs --help", command,
			  *command ? ": no such command; " : "");
		return 1;
	}
	if (rc < 0)
		log_error("%s", err.text);
	return rc < 0 ? 1 : 0;
}

static int run(int argc, char **argv)
{
	struct install_options o = { .queues = ARGVEC_INIT };
	cleanup_opt_run struct opt_run run_ = { 0 };
	cleanup_argvec struct argvec words = ARGVEC_INIT;
	struct error err = ERROR_INIT;
	int rc;

	opt_run_init(&run_, &install_options, &o, NULL);
	rc = operands_parse(&run_, argc, argv, &words, &err);
	if (rc < 0)
		rc = opt_fail(&run_, &err);
	else if (rc == OPT_DONE)
		rc = 0;
	else
		rc = run_command(&o, &words);
	argvec_release(&o.queues);
	return rc;
}

const struct applet slurm_on_ocs_applet = { .name = "slurm-on-ocs", .run = run, .options = &install_options };

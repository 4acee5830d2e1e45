/* SPDX-License-Identifier: Apache-2.0 */
/* Talking to a running job's supervisor through `shim-launch ctl` (docs/design/001-interfaces.md). */
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/spawn.h"
#include "ocs/record.h"
#include "ocs/spool.h"
#include "translate/scancel.h"

#include <limits.h>
#include <string.h>

enum { CTL_TIMEOUT_MS = 10000 }; /* it gives up by itself after 2 s */

/* What a supervisor told us would be said to the user twice: the engine's answer follows. */
enum { CTL_OUTPUT_MAX = 1 << 16 };

bool supervisor_has(const struct job *j)
{
	return j->record && j->record->has_submit && j->uid == geteuid();
}

static int open_spool(const struct conf *conf, const struct job *j, struct spool *spool)
{
	cleanup_free char *root = conf_spool_dir(conf, NULL);

	return root ? spool_open_job(spool, root, conf->cluster_name, j->id, NULL) : -1;
}

bool supervisor_tell(const struct conf *conf, const struct job *j, const char *const *verb)
{
	cleanup_spool struct spool spool = SPOOL_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	cleanup_strbuf struct strbuf err = STRBUF_INIT;
	cleanup_free char *program = path_sibling("shim-launch", NULL);
	struct spawn s = { .program = program,
			   .argv = &argv,
			   .out = &out,
			   .err = &err,
			   .timeout_ms = CTL_TIMEOUT_MS,
			   .max_output = CTL_OUTPUT_MAX,
			   .trace = true };

	if (!program || !supervisor_has(j) || open_spool(conf, j, &spool) < 0)
		return false;
	argvec_pushl(&argv, "shim-launch", "ctl", spool.dir, NULL);
	if (j->is_array)
		argvec_pushf(&argv, "task=%u", j->positions[0]);
	for (; *verb; verb++)
		argvec_push(&argv, *verb);
	return spawn_run(&s, NULL) == 0 && spawn_exit_code(s.status) == 0;
}

void supervisor_record_cancel(const struct conf *conf, const struct job *j)
{
	uint32_t task = j->is_array && !j->is_group ? j->positions[0] : 0;
	cleanup_spool struct spool spool = SPOOL_INIT;
	char host[HOST_NAME_MAX + 1] = "";
	struct error err = ERROR_INIT;
	struct record rec;
	cleanup_fd int fd = -1;

	if (!supervisor_has(j))
		return;
	open_spool(conf, j, &spool);
	fd = record_open_dir(conf->accounting_dir, spool.dir, &err);
	gethostname(host, sizeof(host) - 1);
	record_begin(&rec, "cancel", j->id, task, j->run ? j->run->restart : 0);
	record_int(&rec, "by", geteuid());
	if (fd < 0 || record_append(&rec, fd, j->id, task, host, &err) < 0)
		log_verbose("job %llu: no record of its cancellation: %s", (unsigned long long)j->id,
			    err.text);
	record_release(&rec);
}

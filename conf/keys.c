/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/keys.h"

#include "common/mem.h"
#include "common/strbuf.h"
#include "conf/conf.h"

#include <string.h>

#define DAY 86400

/* clang-format off */
#define STRING(field, def, why, show, words) \
	{ .name = #field, .type = CONF_STRING, .offset = offsetof(struct conf, field), .string = def, \
	  .otherwise = why, .example = show, .text = words }
#define INT(field, def, low, high, words) \
	{ .name = #field, .type = CONF_INT, .offset = offsetof(struct conf, field), .number = def, .min = low, \
	  .max = high, .text = words }
#define BOOL(field, def, words) \
	{ .name = #field, .type = CONF_BOOL, .offset = offsetof(struct conf, field), .number = def, .text = words }
#define PARTITION(field, why, show, words) \
	{ .name = #field, .type = CONF_STRING, .offset = offsetof(struct conf_partition, field), .otherwise = why, \
	  .example = show, .text = words }
#define MAP(field, why, show, words) \
	{ .name = #field, .type = CONF_STRING, .offset = offsetof(struct conf_map, field), .otherwise = why, \
	  .example = show, .text = words }
#define MAPS(field, why, show, words) \
	{ .name = #field, .type = CONF_MAPS, .offset = offsetof(struct conf, field), .otherwise = why, \
	  .example = show, .text = words }

const struct conf_key conf_keys[] = {
	STRING(cluster_name, NULL, "$SGE_CLUSTER_NAME, else the name of the cell", "\"cluster\"",
	       "Name of the cluster, as jobs see it in SLURM_CLUSTER_NAME."),
	STRING(slurm_version, "22.05.8", NULL, NULL, "Slurm release that --version prints."),
	STRING(default_partition, NULL, "the engine chooses among its queues", "\"all.q\"",
	       "Partition of a job that names none."),
	{ .name = "partitions", .type = CONF_PARTITIONS, .offset = offsetof(struct conf, partitions),
	  .otherwise = "each queue is the partition of its own name",
	  .example = "( { name = \"gpu\"; queue = \"gpu.q\"; pe = \"mpi\"; } )",
	  .text = "Partitions that aren't simply the queue of the same name: a list of groups." },
	STRING(pe_family, "slurm-on-ocs", NULL, NULL,
	       "Prefix of the parallel environments that the installer makes."),
	STRING(memory_complex, NULL, "the cell's consumable mem, memory, ram, mem_req, mem_request, m_mem_free, mem_free or virtual_free",
	       "\"h_vmem\"",
	       "Complex that --mem, --mem-per-cpu and --mem-per-gpu ask for; \"none\": memory isn't asked for."),
	STRING(exclusive_complex, NULL, "the cell's first complex with relop EXCL", "\"exclusive\"",
	       "Complex that --exclusive asks for."),
	STRING(tmp_complex, NULL, "none: --tmp is refused", "\"scratch\"", "Complex that --tmp asks for."),
	STRING(gpu_complex, "gpu", NULL, NULL, "Complex of GPUs that are asked for without a type."),
	MAPS(gres, "each is the complex of its own name; GPUs have no types",
	     "( { name = \"gpu:a100\"; complex = \"gpu_a100\"; } )",
	     "Generic resources, with or without a type, that aren't the complex of the same name: a list of groups."),
	MAPS(features, "each is the BOOL complex of its own name",
	     "( { name = \"intel\"; request = \"cpu_model=intel*\"; } )",
	     "Features for --constraint: a list of groups."),
	STRING(spool_dir, "~/.slurm-on-ocs", NULL, NULL,
	       "Folder for the files of a user's jobs; on all hosts, writable by the user; a leading ~ is the user's home."),
	STRING(accounting_dir, NULL, "$SGE_ROOT/$SGE_CELL/common/slurm-on-ocs/acct", "\"/var/lib/slurm-on-ocs/acct\"",
	       "Folder with one folder per user id for the records of jobs and steps."),
	{ .name = "native_pes", .type = CONF_LIST, .offset = offsetof(struct conf, native_pes), .otherwise = "none",
	  .example = "[ \"mpi\" ]",
	  .text = "Parallel environments whose native jobs see SLURM_* variables too, besides those of pe_family." },
	STRING(container_runtimes, NULL, "a list that is compiled in", "\"apptainer:singularity:podman\"",
	       "Programs, separated by colons, that are started without our library in LD_PRELOAD."),
	INT(engine_timeout, 60, 1, DAY, "Seconds that a command of the engine may take."),
	INT(port_first, 61000, 1024, 65535, "First TCP port that steps listen on."),
	INT(port_last, 61439, 1024, 65535, "Last TCP port that steps listen on."),
	STRING(interface, NULL, "every one that is up", "\"eth0\"",
	       "The only network interface that steps use between hosts."),
	INT(launch_timeout, 60, 1, DAY, "Seconds from a step's launch until its last host must be ready."),
	INT(control_timeout, 60, 2, DAY, "Seconds of silence after which a control connection counts as lost."),
	INT(ping_interval, 10, 1, DAY, "Seconds between two signs of life on a control connection."),
	INT(auth_timeout, 10, 1, 3600, "Seconds that a peer has to prove itself."),
	INT(race_retry, 10, 0, 3600, "Seconds to go on asking an execution host that doesn't know the job yet."),
	INT(slot_retry, 300, 0, DAY, "Seconds to go on asking an execution host whose slots are all taken."),
	INT(launch_window, 64, 1, 65536, "How many hosts are started at the same time."),
	INT(kill_wait, 30, 0, DAY, "Seconds between TERM and KILL when a job is cancelled or at its time limit."),
	INT(max_array_size, 4000001, 1, 4000001,
	    "An array's indexes are below this; how many elements there may be is the engine's max_aj_tasks."),
	BOOL(kill_invalid_depend, true,
	     "Remove a job whose --dependency can't be met any more; false: it stays, held, as sbatch --kill-on-invalid-dep=no."),
	BOOL(kill_on_bad_exit, false, "End a step when one of its tasks fails, as srun -K does."),
};

const size_t conf_nkeys = ARRAY_SIZE(conf_keys);

const struct conf_key conf_partition_keys[] = {
	PARTITION(name, NULL, NULL, "Name of the partition."),
	PARTITION(queue, "the partition's name", NULL, "Queue of the engine."),
	PARTITION(pe, "found", NULL, "Parallel environment for its jobs."),
};

const struct conf_key conf_map_keys[] = {
	MAP(name, NULL, NULL, "Name of the feature, or of the generic resource (\"gpu:a100\": with this type)."),
	MAP(complex, "of the same name", NULL, "Complex of the engine."),
	MAP(request, "nothing more", NULL, "What else is asked for, as -l of qsub has it."),
};
/* clang-format on */

const size_t conf_npartition_keys = ARRAY_SIZE(conf_partition_keys);
const size_t conf_nmap_keys = ARRAY_SIZE(conf_map_keys);

/* The default as libconfig has it; an example where there is no plain one. */
static void add_value(struct strbuf *out, const struct conf_key *k)
{
	if (k->type == CONF_INT)
		strbuf_addf(out, "%ld", k->number);
	else if (k->type == CONF_BOOL)
		strbuf_addstr(out, k->number ? "true" : "false");
	else if (k->string)
		strbuf_addf(out, "\"%s\"", k->string);
	else
		strbuf_addstr(out, k->example);
}

char *conf_sample(void)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_addstr(
		&out,
		"# slurm-on-ocs.conf: what is out of comment changes a default; see slurm-on-ocs.conf(5).\n");
	for (size_t i = 0; i < conf_nkeys; i++) {
		const struct conf_key *k = &conf_keys[i];

		strbuf_addf(&out, "\n# %s", k->text);
		if (k->type == CONF_INT)
			strbuf_addf(&out, " From %ld to %ld.", k->min, k->max);
		if (k->otherwise)
			strbuf_addf(&out, " Default: %s.", k->otherwise);
		strbuf_addf(&out, "\n#%s = ", k->name);
		add_value(&out, k);
		strbuf_addstr(&out, ";\n");
	}
	return strbuf_steal(&out);
}

/* scdoc takes _ and * for emphasis, \ and a leading # have a meaning, too. */
static void add_scdoc(struct strbuf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("_*\\~", *s))
			strbuf_addch(out, '\\');
		strbuf_addch(out, *s);
	}
}

static void add_manual_key(struct strbuf *out, const struct conf_key *k, const char *kind)
{
	cleanup_strbuf struct strbuf value = STRBUF_INIT;

	strbuf_addstr(out, "*");
	add_scdoc(out, k->name);
	strbuf_addf(out, "* (%s)\n\t", kind);
	add_scdoc(out, k->text);
	if (k->type == CONF_INT)
		strbuf_addf(out, " From %ld to %ld.", k->min, k->max);
	if (k->otherwise) {
		strbuf_addstr(out, " Default: ");
		add_scdoc(out, k->otherwise);
		strbuf_addstr(out, ".");
	} else if (k->type == CONF_INT || k->type == CONF_BOOL || k->string) {
		add_value(&value, k);
		strbuf_addstr(out, " Default: ");
		add_scdoc(out, value.buf);
		strbuf_addstr(out, ".");
	}
	strbuf_addstr(out, "\n\n");
}

/* The settings of one group of the list k. */
static void add_manual_group(struct strbuf *out, const struct conf_key *k)
{
	bool maps = k->type == CONF_MAPS;
	const struct conf_key *keys = maps ? conf_map_keys : conf_partition_keys;
	size_t n = maps ? conf_nmap_keys : conf_npartition_keys;
	cleanup_free char *kind = xasprintf("string, in a group of %s", k->name);

	for (size_t i = 0; i < n; i++)
		add_manual_key(out, &keys[i], kind);
}

char *conf_manual(void)
{
	static const char *const kinds[] = {
		[CONF_STRING] = "string", [CONF_INT] = "number",      [CONF_BOOL] = "true or false",
		[CONF_LIST] = "array",    [CONF_PARTITIONS] = "list", [CONF_MAPS] = "list",
	};
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < conf_nkeys; i++) {
		add_manual_key(&out, &conf_keys[i], kinds[conf_keys[i].type]);
		if (conf_keys[i].type == CONF_PARTITIONS || conf_keys[i].type == CONF_MAPS)
			add_manual_group(&out, &conf_keys[i]);
	}
	return strbuf_steal(&out);
}

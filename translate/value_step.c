/* SPDX-License-Identifier: Apache-2.0 */
/* Values of srun's options that need more than one of opt.h's shared parsers. */
#include "translate/step.h"

#include "common/duration.h"
#include "common/fd.h"
#include "common/hostlist.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/size.h"
#include "translate/applet.h"
#include "translate/request.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define HOST_FILE_MAX (16u << 20)

static int invalid(const struct opt_context *ctx, struct error *err)
{
	return error_set(err, ERR_USAGE, "Invalid --%s specification", ctx->row->name);
}

static const char *variable(const struct srun *s, const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = s->envp; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* --- counts --- */

/* text[0..n): a count; Slurm's "k" and "m" are 1024s. */
static int take_count(const char *text, size_t n, uint32_t *count, struct error *err)
{
	cleanup_free char *copy = xstrndup(text, n);
	char *end;
	long v;

	errno = 0;
	v = strtol(copy, &end, 10);
	if (end != copy && (*end == 'k' || *end == 'K') && v <= INT_MAX)
		v *= 1024, end++;
	else if (end != copy && (*end == 'm' || *end == 'M') && v <= INT_MAX)
		v *= 1024 * 1024, end++;
	if (end == copy || *end || errno || v < 0 || v > INT_MAX)
		return error_set(err, ERR_USAGE, "\"%s\" is not a valid node count", copy);
	*count = (uint32_t)v;
	return 0;
}

/* "3", "2-4", "-2" (1-2). SLURM_NNODES counts only where SLURM_JOB_NUM_NODES, the job's own, isn't there. */
int parse_step_nodes(const struct opt_context *ctx, struct error *err)
{
	struct srun *s = ctx->target;
	const char *dash = strchr(ctx->value, '-');
	uint32_t min = 1, max;

	if (ctx->origin == OPT_FROM_ENV && variable(s, "SLURM_JOB_NUM_NODES"))
		return 0;
	if (dash != ctx->value &&
	    take_count(ctx->value, dash ? (size_t)(dash - ctx->value) : strlen(ctx->value), &min, err) < 0)
		return -1;
	max = min;
	if (dash && take_count(dash + 1, strlen(dash + 1), &max, err) < 0)
		return -1;
	if (max < min)
		return error_set(err, ERR_USAGE, "Maximum node count %u is less than minimum node count %u",
				 max, min);
	if (!min)
		return error_set(err, ERR_USAGE, "\"%s\" is not a valid node count", ctx->value);
	s->spec.min_nodes = min;
	s->spec.max_nodes = max;
	return 0;
}

static bool is_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && !strncasecmp(s, word, n);
}

/* text[0..n) is the first part of a distribution. */
static int first_method(const struct opt_context *ctx, const char *text, size_t n, struct error *err)
{
	struct srun *s = ctx->target;
	const char *size = variable(s, "SLURM_DIST_PLANESIZE");
	long plane;

	if (is_word(text, n, "block"))
		s->spec.distribution = DIST_BLOCK;
	else if (is_word(text, n, "cyclic"))
		s->spec.distribution = DIST_CYCLIC;
	else if (is_word(text, n, "arbitrary"))
		s->spec.distribution = DIST_ARBITRARY;
	else if (is_word(text, n, "*"))
		s->spec.distribution = DIST_UNSET;
	else if (n < 5 || strncasecmp(text, "plane", 5) || (n > 5 && text[5] != '='))
		return invalid(ctx, err);
	else {
		plane = n > 5 ? strtol(text + 6, NULL, 10) : size ? strtol(size, NULL, 10) : 0;
		if (plane <= 0 || plane > INT_MAX)
			return error_set(
				err, ERR_USAGE,
				"Invalid plane size or size not specified\nInvalid --%s specification",
				ctx->row->name);
		s->spec.distribution = DIST_PLANE;
		s->spec.plane_size = (uint32_t)plane;
	}
	return 0;
}

/*
 * method[:method[:method]][,pack|,nopack]. What stands behind the first ':' spreads tasks over the sockets and cores
 * of a host: it is checked, and changes nothing where tasks aren't bound.
 */
int parse_step_distribution(const struct opt_context *ctx, struct error *err)
{
	static const char *const inner[] = { "block", "cyclic", "fcyclic", "*" };
	struct srun *s = ctx->target;
	const char *p = ctx->value;
	size_t n = strcspn(p, ":,");

	if (first_method(ctx, p, n, err) < 0)
		return -1;
	s->spec.pack = false;
	for (p += n; *p; p += n) {
		bool packing = *p++ == ',', known = false;

		n = strcspn(p, ":,");
		if (packing) {
			s->spec.pack = is_word(p, n, "pack");
			known = s->spec.pack || is_word(p, n, "nopack");
		}
		for (size_t i = 0; !packing && i < ARRAY_SIZE(inner); i++)
			known = known || is_word(p, n, inner[i]);
		if (!known)
			return invalid(ctx, err);
	}
	return 0;
}

/* --- flags --- */

/* A variable's value: empty, "yes" or a number other than 0. */
static bool says_yes(const char *value)
{
	return !*value || !strcasecmp(value, "yes") || strtol(value, NULL, 10) != 0;
}

int parse_step_flag(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	if (ctx->origin != OPT_FROM_ENV || says_yes(ctx->value))
		*(bool *)ctx->field = true;
	return 0;
}

int parse_step_quiet(const struct opt_context *ctx, struct error *err)
{
	(void)err;
	*(int *)ctx->field = 1;
	return 0;
}

/* -K, -K0, --kill-on-bad-exit=1 */
int parse_step_kill(const struct opt_context *ctx, struct error *err)
{
	struct opt_context copy = *ctx;
	uint32_t n = 1;

	copy.field = &n;
	if (ctx->value && opt_parse_unsigned(&copy, err) < 0)
		return -1;
	*(int8_t *)ctx->field = n != 0;
	return 0;
}

/* -k[off] */
int parse_step_no_kill(const struct opt_context *ctx, struct error *err)
{
	if (ctx->origin == OPT_FROM_ENV && ctx->value && strcasecmp(ctx->value, "off")) {
		*(bool *)ctx->field = says_yes(ctx->value);
		return 0;
	}
	if (check_no_kill(ctx, err) < 0)
		return -1;
	*(bool *)ctx->field = !ctx->value;
	return 0;
}

/* -I[seconds]: any wait is too long for a step that has to start at once. */
int parse_step_immediate(const struct opt_context *ctx, struct error *err)
{
	struct opt_context copy = *ctx;
	uint32_t n = 1;

	copy.field = &n;
	if (ctx->value && opt_parse_unsigned(&copy, err) < 0)
		return -1;
	*(bool *)ctx->field = ctx->origin != OPT_FROM_ENV || n != 0;
	return 0;
}

/* For a step --exclusive is --exact. */
int parse_step_exclusive(const struct opt_context *ctx, struct error *err)
{
	if (ctx->origin != OPT_FROM_ENV && check_exclusive(ctx, err) < 0)
		return -1;
	*(bool *)ctx->field = true;
	return 0;
}

/* --- hosts --- */

/* Names of the file, one after the other with their order and doubles: -m arbitrary counts on them. */
static int read_hosts(const char *file, char **out, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT, list = STRBUF_INIT;
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;

	if (fd_read_file(AT_FDCWD, file, HOST_FILE_MAX, &text, err) < 0)
		return -1;
	if (hostlist_parse(&hl, text.buf, err) < 0)
		return error_set(err, ERR_USAGE, "Invalid hostlist: %s", file);
	if (!hl.names.n)
		return error_set(err, ERR_USAGE, "Hostlist is empty!");
	for (size_t i = 0; i < hl.names.n; i++)
		strbuf_addf(&list, "%s%s", i ? "," : "", hl.names.v[i]);
	replace_str(out, list.buf);
	return 0;
}

int parse_step_host_file(const struct opt_context *ctx, struct error *err)
{
	struct error why = ERROR_INIT;

	if (read_hosts(ctx->value, ctx->field, &why) < 0)
		return error_set(err, ERR_USAGE, "%s\nInvalid --%s node file", why.text, ctx->row->name);
	return 0;
}

/* A value with a '/' is a file of names. */
int parse_step_hosts(const struct opt_context *ctx, struct error *err)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;

	if (strchr(ctx->value, '/'))
		return parse_step_host_file(ctx, err);
	if (hostlist_parse(&hl, ctx->value, NULL) < 0)
		return error_set(err, ERR_USAGE, "Invalid --%s: Invalid hostlist: %s", ctx->row->name,
				 ctx->value);
	return opt_parse_string(ctx, err);
}

/* --- the rest --- */

int parse_step_chdir(const struct opt_context *ctx, struct error *err)
{
	cleanup_free char *cwd = NULL, *path = NULL;

	if (ctx->value[0] == '/')
		return opt_parse_string(ctx, err);
	cwd = path_cwd(err);
	if (!cwd)
		return -1;
	path = path_join(cwd, ctx->value);
	replace_str(ctx->field, path);
	return 0;
}

/* "openmpi" was an alias of none, and still is. Any other type is one whose plugin isn't installed. */
int parse_step_mpi(const struct opt_context *ctx, struct error *err)
{
	const char *v = ctx->value;

	if (strcmp(v, "none") && strcmp(v, "openmpi") && strcmp(v, "list"))
		return error_set(
			err, ERR_VALUE,
			"Couldn't find the specified plugin name for mpi/%s looking at all files\n"
			"cannot find mpi plugin for mpi/%s\nMPI: Cannot create context for mpi/%s\n"
			"MPI: Unable to load any plugin\nInvalid MPI type '%s', --mpi=list for acceptable types",
			v, v, v, v);
	return opt_parse_string(ctx, err);
}

void srun_list_mpi(void)
{
	puts("MPI plugin types are...\n\tnone");
}

static bool is_binding(const char *s, size_t n)
{
	static const char *const words[] = { "q",     "quiet", "v",         "verbose", "no",
					     "none",  "rank",  "rank_ldom", "socket",  "sockets",
					     "core",  "cores", "thread",    "threads", "ldom",
					     "ldoms", "board", "boards",    "help" };
	static const char *const lists[] = { "map_cpu:", "mask_cpu:", "map_ldom:", "mask_ldom:" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is_word(s, n, words[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (!strncasecmp(s, lists[i], strlen(lists[i])))
			return true;
	return false;
}

/* Binding is the engine's: as on a Slurm cluster without it, a known word is answered by one line. */
int parse_step_cpu_bind(const struct opt_context *ctx, struct error *err)
{
	const char *v = ctx->value;
	bool list = strchr(v, ':') != NULL;
	size_t n;

	if (!strcasecmp(v, "none") || !strcasecmp(v, "no") || !strcasecmp(v, "help"))
		return 0;
	log_info("cluster configuration lacks support for cpu binding");
	for (const char *p = v;; p += n + 1) {
		n = strcspn(p, ",");
		if (!is_binding(p, n) && !(list && p != v)) {
			log_error("unrecognized --cpu-bind argument \"%s\"", v);
			log_fatal("Failed to parse --cpu-bind= values.");
			return error_set(err, ERR_VALUE, "%s", "");
		}
		if (!p[n])
			return 0;
	}
}

/* 0 is all of the job's memory, which a step has in any case; less can't be had. */
int parse_step_memory(const struct opt_context *ctx, struct error *err)
{
	uint64_t mib;

	if (size_parse_mib(ctx->value, &mib, NULL) < 0)
		return invalid(ctx, err);
	if (mib)
		log_info("Warning: %s is ignored: memory is the job's, steps have no limits of their own",
			 ctx->spelled);
	return 0;
}

int parse_step_gres(const struct opt_context *ctx, struct error *err)
{
	const struct srun *s = ctx->target;

	if (!strcasecmp(ctx->value, "none") || (ctx->origin == OPT_FROM_ENV && !*ctx->value))
		return 0;
	return error_set(err, ERR_VALUE,
			 "Step requested GRES but job doesn't have GRES\n"
			 "Unable to create step for job %s: Invalid generic resource (gres) specification",
			 s->job_id ? s->job_id : "(none)");
}

/* The configuration is opened for this alone: a step doesn't need it. */
int parse_step_version(const struct opt_context *ctx, struct error *err)
{
	ctx->run->version = applet_conf()->slurm_version;
	return opt_parse_version(ctx, err);
}

int parse_allocation(const struct opt_context *ctx, struct error *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

int check_propagate(const struct opt_context *ctx, struct error *err)
{
	static const char *const names[] = { "ALL",   "NONE",    "AS",     "CORE",  "CPU", "DATA",
					     "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK" };

	for (const char *p = ctx->value; p && *p;) {
		size_t n = strcspn(p, ",");
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			known = known || is_word(p, n, names[i]);
		if (!known)
			return error_set(err, ERR_VALUE,
					 "Bad rlimit name: %.*s\n--propagate=%s is not valid.", (int)n, p,
					 ctx->value);
		p += n + (p[n] == ',');
	}
	return 0;
}

int check_step_time(const struct opt_context *ctx, struct error *err)
{
	int64_t seconds;

	return duration_parse(ctx->value, &seconds, NULL) < 0 ? invalid(ctx, err) : 0;
}

/* --- all together --- */

void srun_init(struct srun *s, char *const *envp)
{
	*s = (struct srun){ .envp = envp };
	stepspec_init(&s->spec);
}

void srun_release(struct srun *s)
{
	stepspec_release(&s->spec);
	free(s->job_id);
	free(s->export_spec);
	free(s->mpi);
}

static int use_host_file(struct srun *s, const char *file, struct error *err)
{
	struct error why = ERROR_INIT;

	if (read_hosts(file, &s->spec.nodelist, &why) < 0) {
		if (why.code == ERR_SYSTEM)
			return error_set(err, ERR_VALUE,
					 "slurm_allocate_resources error opening file %s, %s\n"
					 "Failure getting NodeNames from hostfile",
					 file, strerror(errno));
		return error_set(err, ERR_VALUE, "%s\nFailure getting NodeNames from hostfile", why.text);
	}
	if (s->spec.distribution == DIST_UNSET)
		s->spec.distribution = DIST_ARBITRARY;
	return 0;
}

int srun_settle(struct srun *s, struct error *err)
{
	const char *file = variable(s, "SLURM_HOSTFILE");

	if (file && *file && !s->spec.nodelist && use_host_file(s, file, err) < 0)
		return -1;
	if (s->spec.cpus_per_task != STEPSPEC_UNSET && !s->whole)
		s->spec.exact = true;
	s->spec.verbosity = (int8_t)(s->quiet ? -1 : s->verbose > 100 ? 100 : s->verbose);
	return 0;
}

/* --- --export --- */

/* Length of the item at s: up to a comma outside quotes. */
static size_t item_length(const char *s)
{
	char quote = 0;
	size_t n = 0;

	for (; s[n] && (quote || s[n] != ','); n++) {
		if (quote ? s[n] == quote : s[n] == '\'' || s[n] == '"')
			quote = quote ? 0 : s[n];
	}
	return n;
}

static bool lists_all(const char *spec)
{
	for (const char *p = spec; *p;) {
		size_t n = item_length(p);

		if (is_word(p, n, "ALL"))
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

static void add_item(struct env *out, const struct env *from, const char *item, bool all)
{
	cleanup_free char *name = xstrndup(item, strcspn(item, "="));
	const char *value = item[strlen(name)] == '=' ? item + strlen(name) + 1 : env_get(from, name);

	if (!*name || !value || (all && env_get(out, name)))
		return;
	env_set(out, name, value);
}

void srun_environment(const char *spec, char *const *envp, struct env *out)
{
	bool all = !spec || lists_all(spec);
	cleanup_env struct env from = ENV_INIT;

	for (char *const *e = envp; *e; e++)
		if (all || !strncmp(*e, "SLURM_", 6))
			argvec_push(&out->vars, *e);
	if (!spec || !strcasecmp(spec, "ALL") || !strcasecmp(spec, "NONE") || !strcasecmp(spec, "NIL"))
		return;
	env_add_all(&from, envp);
	for (const char *p = spec; *p;) {
		size_t n = item_length(p);
		cleanup_free char *item = xstrndup(p, n);

		if (!is_word(p, n, "ALL"))
			add_item(out, &from, item, all);
		p += n + (p[n] == ',');
	}
}

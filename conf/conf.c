/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf.h"

#include "common/mem.h"
#include "common/path.h"
#include "conf/keys.h"

#include <libconfig.h>
#include <pwd.h>
#include <string.h>

#define FILE_NAME "slurm-on-ocs.conf"

static void *field(void *base, const struct conf_key *k)
{
	return (char *)base + k->offset;
}

static void partition_release(struct conf_partition *p)
{
	free(p->name);
	free(p->queue);
	free(p->pe);
}

static void maps_release(struct conf_maps *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].name);
		free(m->v[i].complex);
		free(m->v[i].request);
	}
	free(m->v);
}

void conf_release(struct conf *c)
{
	for (size_t i = 0; i < conf_nkeys; i++) {
		if (conf_keys[i].type == CONF_STRING)
			free(*(char **)field(c, &conf_keys[i]));
		else if (conf_keys[i].type == CONF_LIST)
			argvec_release(field(c, &conf_keys[i]));
		else if (conf_keys[i].type == CONF_MAPS)
			maps_release(field(c, &conf_keys[i]));
	}
	for (size_t i = 0; i < c->npartitions; i++)
		partition_release(&c->partitions[i]);
	free(c->partitions);
	free(c->file);
	*c = (struct conf)CONF_INIT;
}

/* --- reading --- */

/* "file:line: ..." */
static int fail_at(const config_setting_t *s, struct error *err, const char *text)
{
	const char *file = config_setting_source_file(s);

	return error_set(err, ERR_CONF, "%s:%u: %s", file ? file : FILE_NAME, config_setting_source_line(s),
			 text);
}

static int wrong_type(const config_setting_t *s, const char *what, struct error *err)
{
	cleanup_free char *text = xasprintf("%s must be %s", config_setting_name(s), what);

	return fail_at(s, err, text);
}

/* How many single-letter changes lie between two words; only small answers matter. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(b);
	size_t row[64];

	if (n + 1 > ARRAY_SIZE(row))
		return n;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

static int unknown_key(const config_setting_t *s, const struct conf_key *keys, size_t n, struct error *err)
{
	const char *name = config_setting_name(s);
	const char *nearest = NULL;
	size_t least = strlen(name) / 3 + 2; /* farther off it would be no help */
	cleanup_free char *text = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(name, keys[i].name);

		if (d < least) {
			least = d;
			nearest = keys[i].name;
		}
	}
	if (nearest)
		text = xasprintf("unknown key \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		text = xasprintf("unknown key \"%s\"; slurm-on-ocs.conf(5) lists them", name);
	return fail_at(s, err, text);
}

static int read_string(const config_setting_t *s, char **out, struct error *err)
{
	if (config_setting_type(s) != CONFIG_TYPE_STRING)
		return wrong_type(s, "a string", err);
	if (!*config_setting_get_string(s))
		return wrong_type(s, "a string that isn't empty", err);
	replace_str(out, config_setting_get_string(s));
	return 0;
}

static int read_int(const config_setting_t *s, const struct conf_key *k, int *out, struct error *err)
{
	int type = config_setting_type(s);
	cleanup_free char *text = NULL;
	long long v;

	if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
		return wrong_type(s, "a whole number", err);
	v = type == CONFIG_TYPE_INT ? config_setting_get_int(s) : config_setting_get_int64(s);
	if (v < k->min || v > k->max) {
		text = xasprintf("%s must be from %ld to %ld, not %lld", k->name, k->min, k->max, v);
		return fail_at(s, err, text);
	}
	*out = (int)v;
	return 0;
}

static int read_list(const config_setting_t *s, struct argvec *out, struct error *err)
{
	if (!config_setting_is_array(s) && !config_setting_is_list(s))
		return wrong_type(s, "an array of strings", err);
	for (int i = 0; i < config_setting_length(s); i++) {
		const char *word = config_setting_get_string_elem(s, i);

		if (!word)
			return wrong_type(s, "an array of strings", err);
		argvec_push(out, word);
	}
	return 0;
}

/* The settings of one group of a list into base, by the table of n keys; the first of them is its name. */
static int read_group(const config_setting_t *group, const struct conf_key *keys, size_t n, void *base,
		      struct error *err)
{
	const char *list = config_setting_name(config_setting_parent(group));
	cleanup_free char *text = NULL;

	if (!config_setting_is_group(group)) {
		text = xasprintf("%s must be a list of groups: ( { name = \"...\"; } )", list);
		return fail_at(group, err, text);
	}
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
		size_t k;

		for (k = 0; k < n; k++)
			if (!strcmp(keys[k].name, config_setting_name(s)))
				break;
		if (k == n)
			return unknown_key(s, keys, n, err);
		if (read_string(s, field(base, &keys[k]), err) < 0)
			return -1;
	}
	return 0;
}

static int read_partition(const config_setting_t *group, struct conf_partition *p, struct error *err)
{
	if (read_group(group, conf_partition_keys, conf_npartition_keys, p, err) < 0)
		return -1;
	if (!p->name)
		return fail_at(group, err, "a partition needs a name");
	if (!p->queue)
		p->queue = xstrdup(p->name);
	return 0;
}

static int read_maps(const config_setting_t *s, struct conf_maps *m, struct error *err)
{
	cleanup_free char *text = NULL;

	if (!config_setting_is_list(s))
		return wrong_type(s, "a list of groups: ( { name = \"...\"; } )", err);
	m->v = xcalloc((size_t)config_setting_length(s), sizeof(*m->v));
	for (int i = 0; i < config_setting_length(s); i++) {
		const config_setting_t *group = config_setting_get_elem(s, (unsigned)i);
		struct conf_map *row = &m->v[m->n++];

		if (read_group(group, conf_map_keys, conf_nmap_keys, row, err) < 0)
			return -1;
		if (row->name && conf_map(m, row->name, NULL) == row)
			continue;
		text = row->name ? xasprintf("%s is there twice", row->name)
				 : xasprintf("a group of %s needs a name", config_setting_name(s));
		return fail_at(group, err, text);
	}
	return 0;
}

static int read_partitions(const config_setting_t *s, struct conf *c, struct error *err)
{
	if (!config_setting_is_list(s))
		return wrong_type(s, "a list of groups: ( { name = \"...\"; } )", err);
	c->partitions = xcalloc((size_t)config_setting_length(s), sizeof(*c->partitions));
	for (int i = 0; i < config_setting_length(s); i++) {
		const config_setting_t *group = config_setting_get_elem(s, (unsigned)i);
		struct conf_partition *p = &c->partitions[c->npartitions++];

		if (read_partition(group, p, err) < 0)
			return -1;
		if (conf_partition(c, p->name) != p) {
			cleanup_free char *text = xasprintf("partition %s is there twice", p->name);

			return fail_at(group, err, text);
		}
	}
	return 0;
}

static int read_key(const config_setting_t *s, const struct conf_key *k, struct conf *c, struct error *err)
{
	switch (k->type) {
	case CONF_STRING:
		return read_string(s, field(c, k), err);
	case CONF_INT:
		return read_int(s, k, field(c, k), err);
	case CONF_BOOL:
		if (config_setting_type(s) != CONFIG_TYPE_BOOL)
			return wrong_type(s, "true or false", err);
		*(bool *)field(c, k) = config_setting_get_bool(s);
		return 0;
	case CONF_LIST:
		return read_list(s, field(c, k), err);
	case CONF_PARTITIONS:
		return read_partitions(s, c, err);
	case CONF_MAPS:
		return read_maps(s, field(c, k), err);
	}
	return 0;
}

/* Rules between keys; they fail at the key that the file holds. */
static int check_pairs(const config_setting_t *root, const struct conf *c, struct error *err)
{
	const config_setting_t *s = config_setting_get_member(root, "port_last");

	if (c->port_first > c->port_last)
		return fail_at(s ? s : config_setting_get_member(root, "port_first"), err,
			       "port_first is above port_last");
	s = config_setting_get_member(root, "spool_dir");
	if (s && c->spool_dir[0] != '/' && strcmp(c->spool_dir, "~") && strncmp(c->spool_dir, "~/", 2))
		return fail_at(s, err, "spool_dir must begin with / or ~/");
	s = config_setting_get_member(root, "ping_interval");
	if (c->ping_interval >= c->control_timeout)
		return fail_at(s ? s : config_setting_get_member(root, "control_timeout"), err,
			       "ping_interval must be below control_timeout");
	return 0;
}

static int read_root(const config_t *cf, struct conf *c, struct error *err)
{
	const config_setting_t *root = config_root_setting(cf);

	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *s = config_setting_get_elem(root, (unsigned)i);
		size_t k;

		for (k = 0; k < conf_nkeys; k++)
			if (!strcmp(conf_keys[k].name, config_setting_name(s)))
				break;
		if (k == conf_nkeys)
			return unknown_key(s, conf_keys, conf_nkeys, err);
		if (read_key(s, &conf_keys[k], c, err) < 0)
			return -1;
	}
	return check_pairs(root, c, err);
}

/* --- defaults --- */

static const char *set_or(const char *name, const char *otherwise)
{
	const char *v = getenv(name);

	return v && *v ? v : otherwise;
}

static void set_plain_defaults(struct conf *c)
{
	for (size_t i = 0; i < conf_nkeys; i++) {
		const struct conf_key *k = &conf_keys[i];

		if (k->type == CONF_STRING)
			*(char **)field(c, k) = xstrdup(k->string);
		else if (k->type == CONF_INT)
			*(int *)field(c, k) = (int)k->number;
		else if (k->type == CONF_BOOL)
			*(bool *)field(c, k) = k->number;
	}
}

/* What the file leaves open and the engine's environment answers. */
static void derive(struct conf *c)
{
	const char *root = set_or("SGE_ROOT", NULL);
	const char *cell = set_or("SGE_CELL", "default");

	if (!c->cluster_name)
		c->cluster_name = xstrdup(set_or("SGE_CLUSTER_NAME", cell));
	if (!c->accounting_dir && root)
		c->accounting_dir = xasprintf("%s/%s/common/slurm-on-ocs/acct", root, cell);
}

/* --- files --- */

static int parse_error(const config_t *cf, const char *file, struct error *err)
{
	const char *where = config_error_file(cf);

	return error_set(err, ERR_CONF, "%s:%d: %s", where ? where : file, config_error_line(cf),
			 config_error_text(cf));
}

/* text NULL: reads file. */
static int load(struct conf *c, const char *file, const char *text, struct error *err)
{
	cleanup_free char *dir = file ? xstrndup(file, (size_t)(path_basename(file) - file)) : NULL;
	config_t cf;
	int rc = 0;

	*c = (struct conf)CONF_INIT;
	set_plain_defaults(c);
	config_init(&cf);
	if (dir && *dir)
		config_set_include_dir(&cf, dir);
	if (text && !config_read_string(&cf, text))
		rc = parse_error(&cf, file, err);
	else if (!text && file && !config_read_file(&cf, file))
		rc = parse_error(&cf, file, err);
	if (rc == 0)
		rc = read_root(&cf, c, err);
	config_destroy(&cf);
	if (rc < 0) {
		conf_release(c);
		return -1;
	}
	c->file = xstrdup(file);
	derive(c);
	return 0;
}

int conf_load_text(struct conf *c, const char *name, const char *text, struct error *err)
{
	return load(c, name, text, err);
}

int conf_load_file(struct conf *c, const char *file, struct error *err)
{
	/* libconfig says "file I/O error" whatever it was */
	if (file && access(file, R_OK) < 0)
		return error_errno(err, "%s", file);
	return load(c, file, NULL, err);
}

int conf_load(struct conf *c, struct error *err)
{
	const char *named = set_or("SLURM_ON_OCS_CONF", NULL);
	const char *root = set_or("SGE_ROOT", NULL);
	cleanup_free char *cell = NULL;

	if (named)
		return conf_load_file(c, named, err);
	if (root) {
		cell = xasprintf("%s/%s/common/" FILE_NAME, root, set_or("SGE_CELL", "default"));
		if (access(cell, F_OK) == 0)
			return conf_load_file(c, cell, err);
	}
	if (access(SYSCONFDIR "/slurm-on-ocs/" FILE_NAME, F_OK) == 0)
		return conf_load_file(c, SYSCONFDIR "/slurm-on-ocs/" FILE_NAME, err);
	return conf_load_file(c, NULL, err);
}

/* --- questions --- */

const struct conf_partition *conf_partition(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->npartitions; i++)
		if (!strcmp(c->partitions[i].name, name))
			return &c->partitions[i];
	return NULL;
}

const struct conf_map *conf_map(const struct conf_maps *m, const char *name, const char *type)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < m->n; i++) {
		const char *row = m->v[i].name;

		if (!strncmp(row, name, n) &&
		    (type ? row[n] == ':' && !strcmp(row + n + 1, type) : row[n] == '\0'))
			return &m->v[i];
	}
	return NULL;
}

char *conf_spool_dir(const struct conf *c, struct error *err)
{
	const char *home = set_or("HOME", NULL);
	const char *dir = c->spool_dir;

	if (dir[0] != '~' || (dir[1] && dir[1] != '/'))
		return xstrdup(dir);
	if (!home) {
		const struct passwd *pw = getpwuid(geteuid());

		home = pw ? pw->pw_dir : NULL;
	}
	if (!home) {
		error_set(err, ERR_CONF,
			  "spool_dir is %s, but neither $HOME nor the passwd entry of uid %u names a home",
			  dir, (unsigned)geteuid());
		return NULL;
	}
	return xasprintf("%s%s", home, dir + 1);
}

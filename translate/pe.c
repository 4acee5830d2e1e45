/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/pe.h"

#include "common/argvec.h"
#include "common/fd.h"
#include "common/mem.h"
#include "common/path.h"
#include "ocs/qconf.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#define CACHE "pes"
#define CACHE_AGE 600 /* s */
#define CACHE_MAX (1 << 20)
#define UNKNOWN "?"

void pe_list_release(struct pe_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].rule);
	}
	free(l->v);
	*l = (struct pe_list)PE_LIST_INIT;
}

/* The part of a family member's name that says its rule; NULL for others. */
static const char *member_suffix(const char *name, const char *family)
{
	size_t n = strlen(family);

	return !strncmp(name, family, n) && name[n] == '.' ? name + n + 1 : NULL;
}

void pe_list_add(struct pe_list *l, const char *name, const char *family)
{
	const char *suffix = member_suffix(name, family);
	struct pe pe = { .name = xstrdup(name) };

	/* With -par any rule will do: the installer makes just one, named like the family. */
	if (!strcmp(name, family) || (suffix && !strcmp(suffix, "fill")))
		pe.rule = xstrdup("$fill_up");
	else if (suffix && *suffix && strspn(suffix, "0123456789") == strlen(suffix))
		pe.rule = xstrdup(suffix);
	pe.is_ours = pe.rule != NULL;
	pe.control = pe.is_ours;
	l->v = xreallocarray(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = pe;
}

/* --- choosing --- */

static bool is_candidate(const struct pe *pe, const char *forced, const struct argvec *unattached)
{
	for (size_t i = 0; i < unattached->n; i++)
		if (!strcmp(unattached->v[i], pe->name))
			return false;
	return pe->rule && pe->control && (!forced || !strcmp(pe->name, forced));
}

/* Does the rule alone, without -par, give the geometry? */
static bool rule_fits(const char *rule, const struct geometry *g)
{
	char k[16];

	if (!g->per_host)
		return !strcmp(rule, "$fill_up");
	snprintf(k, sizeof(k), "%u", g->per_host);
	return !strcmp(rule, k) || (g->max_hosts == 1 && !strcmp(rule, "$pe_slots"));
}

int pe_choose(const struct pe_list *l, const struct geometry *g, const char *forced, bool has_par,
	      const struct argvec *unattached, struct pe_choice *choice)
{
	const struct pe *best = NULL;

	for (size_t i = 0; i < l->n; i++) {
		const struct pe *pe = &l->v[i];

		if (is_candidate(pe, forced, unattached) && (has_par || rule_fits(pe->rule, g)) &&
		    (!best || (pe->is_ours && !best->is_ours)))
			best = pe;
	}
	if (!best)
		return -1;
	*choice = (struct pe_choice){ .name = best->name };
	if (has_par && g->per_host)
		snprintf(choice->par, sizeof(choice->par), "%u", g->per_host);
	else if (has_par)
		snprintf(choice->par, sizeof(choice->par), "$fill_up");
	return 0;
}

bool pe_can_fill(const struct pe_list *l, const char *forced, bool has_par, const struct argvec *unattached)
{
	const struct geometry fill = { .per_host = 0, .min_hosts = 1, .max_hosts = 2 };
	struct pe_choice choice;

	return pe_choose(l, &fill, forced, has_par, unattached, &choice) == 0;
}

/* --- cache: a line "name rule control" each --- */

static int read_cache(struct pe_list *l, int dirfd, const char *family)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct stat st;
	time_t now = time(NULL);
	char *save = NULL, *name, *rule, *control;

	if (fstatat(dirfd, CACHE, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtime > now ||
	    now - st.st_mtime > CACHE_AGE || fd_read_file(dirfd, CACHE, CACHE_MAX, &text, NULL) < 0)
		return -1;
	for (char *line = text.buf; (name = strtok_r(line, " \n", &save)); line = NULL) {
		struct pe *pe;

		rule = strtok_r(NULL, " \n", &save);
		control = strtok_r(NULL, " \n", &save);
		if (!control)
			return -1;
		pe_list_add(l, name, family);
		pe = &l->v[l->n - 1];
		if (strcmp(rule, UNKNOWN))
			replace_str(&pe->rule, rule);
		pe->control = *control == '1';
	}
	return 0;
}

/* A cache that can't be written costs time, nothing else. */
static void write_cache(const struct pe_list *l, int dirfd)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	cleanup_free char *name = xasprintf(CACHE ".%ld", (long)getpid());

	for (size_t i = 0; i < l->n; i++)
		strbuf_addf(&text, "%s %s %d\n", l->v[i].name, l->v[i].rule ? l->v[i].rule : UNKNOWN,
			    l->v[i].control);
	if (path_write_newat(dirfd, name, 0600, text.buf, text.len, false, NULL) < 0)
		return;
	if (renameat(dirfd, name, dirfd, CACHE) < 0)
		unlinkat(dirfd, name, 0);
}

int pe_list_load(struct pe_list *l, const char *dir, const char *family, bool fresh, struct error *err)
{
	cleanup_fd int fd = path_open_private_dir(dir, false, NULL);
	cleanup_argvec struct argvec names = ARGVEC_INIT;

	pe_list_release(l);
	if (!fresh && fd >= 0 && read_cache(l, fd, family) == 0)
		return 0;
	pe_list_release(l);
	if (qconf_list("-spl", &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		pe_list_add(l, names.v[i], family);
	if (fd >= 0)
		write_cache(l, fd);
	return 0;
}

int pe_list_complete(struct pe_list *l, const char *dir, struct error *err)
{
	cleanup_fd int fd = path_open_private_dir(dir, false, NULL);
	bool changed = false;

	for (size_t i = 0; i < l->n; i++) {
		cleanup_qconf_object struct qconf_object o = QCONF_OBJECT_INIT;
		const char *rule, *control;

		if (l->v[i].rule)
			continue;
		if (qconf_show("-sp", l->v[i].name, &o, err) < 0)
			return -1;
		rule = qconf_get(&o, "allocation_rule");
		control = qconf_get(&o, "control_slaves");
		replace_str(&l->v[i].rule, rule ? rule : "");
		l->v[i].control = control && !strcasecmp(control, "TRUE");
		changed = true;
	}
	if (changed && fd >= 0)
		write_cache(l, fd);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/install.h"

#include "common/fd.h"
#include "common/mem.h"
#include "common/path.h"
#include "ocs/engine.h"

#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#define ACCOUNTING_MODE 01777 /* everybody makes a folder of his own there; nobody removes another's */

void install_paths_release(struct install_paths *p)
{
	free(p->dir);
	free(p->state);
	free(p->starter);
	*p = (struct install_paths)INSTALL_PATHS_INIT;
}

int install_paths_find(struct install_paths *p, struct error *err)
{
	cleanup_free char *root = engine_root(err);
	cleanup_free char *cell = engine_cell();

	if (!root)
		return -1;
	p->dir = xasprintf("%s/%s/common/slurm-on-ocs", root, cell);
	p->state = xasprintf("%s/installed.json", p->dir);
	p->starter = path_sibling("starter", err);
	return p->starter ? 0 : -1;
}

int install_check_manager(struct error *err)
{
	cleanup_argvec struct argvec managers = ARGVEC_INIT;
	const struct passwd *pw = getpwuid(geteuid());

	if (qconf_list("-sm", &managers, err) < 0)
		return -1;
	for (size_t i = 0; pw && i < managers.n; i++)
		if (!strcmp(managers.v[i], pw->pw_name))
			return 0;
	return error_set(err, ERR_ENGINE,
			 "%s is no manager of this cell (see qconf -sm); nothing was changed",
			 pw ? pw->pw_name : "this user");
}

/* --- the plan --- */

struct cell {
	const struct conf *conf;
	struct engine_kind kind;
	struct argvec queues; /* those to change */
	struct qconf_object *objects;
	struct argvec pes;
	struct qconf_object like; /* some PE of the cell, for its attributes */
};

static void cell_release(struct cell *c)
{
	for (size_t i = 0; c->objects && i < c->queues.n; i++)
		qconf_object_release(&c->objects[i]);
	free(c->objects);
	argvec_release(&c->queues);
	argvec_release(&c->pes);
	qconf_object_release(&c->like);
}

static int load_cell(struct cell *c, const struct install_options *o, struct error *err)
{
	if (engine_kind(&c->kind, err) < 0 || qconf_list("-spl", &c->pes, err) < 0)
		return -1;
	for (size_t i = 0; i < o->queues.n; i++)
		argvec_push(&c->queues, o->queues.v[i]);
	if (!o->queues.n && qconf_list("-sql", &c->queues, err) < 0)
		return -1;
	if (!c->queues.n)
		return error_set(err, ERR_ENGINE, "the cell has no queue");
	c->objects = xcalloc(c->queues.n, sizeof(*c->objects));
	for (size_t i = 0; i < c->queues.n; i++)
		if (qconf_show("-sq", c->queues.v[i], &c->objects[i], err) < 0)
			return error_wrap(err, "queue %s", c->queues.v[i]);
	if (c->pes.n && qconf_show("-sp", c->pes.v[0], &c->like, err) < 0)
		return -1;
	return 0;
}

static int plan_pe(struct plan *p, const struct cell *c, const char *name, const char *rule,
		   struct error *err)
{
	cleanup_qconf_object struct qconf_object existing = QCONF_OBJECT_INIT;
	bool exists = false;

	for (size_t i = 0; i < c->pes.n && !exists; i++)
		exists = !strcmp(c->pes.v[i], name);
	if (exists && qconf_show("-sp", name, &existing, err) < 0)
		return -1;
	return plan_add_pe(p, name, rule, c->kind.has_rsmap, c->like.names.n ? &c->like : NULL,
			   exists ? &existing : NULL, err);
}

/* The most slots that a host has in these queues. */
static long most_slots(const struct cell *c, struct error *err)
{
	long most = 0;

	for (size_t i = 0; i < c->queues.n; i++) {
		const char *slots = qconf_get(&c->objects[i], "slots");
		long n = plan_queue_slots(slots ? slots : "", err);

		if (n < 0)
			return error_wrap(err, "queue %s", c->queues.v[i]);
		if (n > PLAN_MAX_SLOTS)
			return error_set(err, ERR_ENGINE, "queue %s has %ld slots on a host: more than %d",
					 c->queues.v[i], n, PLAN_MAX_SLOTS);
		most = n > most ? n : most;
	}
	return most;
}

static int plan_pes(struct plan *p, const struct cell *c, struct error *err)
{
	const char *family = c->conf->pe_family;
	cleanup_free char *fill = xasprintf("%s.fill", family);
	long most;

	/* -par gives any PE the rule that a job wants. */
	if (c->kind.has_par)
		return plan_pe(p, c, family, "$fill_up", err);
	most = most_slots(c, err);
	if (most < 0)
		return -1;
	for (long k = 1; k <= most; k++) {
		cleanup_free char *name = xasprintf("%s.%ld", family, k);
		char rule[24];

		snprintf(rule, sizeof(rule), "%ld", k);
		if (plan_pe(p, c, name, rule, err) < 0)
			return -1;
	}
	return plan_pe(p, c, fill, "$fill_up", err);
}

static int make_plan(struct plan *p, const struct cell *c, const struct install_options *o,
		     const struct install_paths *paths, struct error *err)
{
	struct plan_starter starter = { .path = paths->starter, .chain = o->chain, .chain_dir = paths->dir };

	if (access(paths->starter, X_OK) < 0)
		return error_errno(err, "%s", paths->starter);
	if (plan_pes(p, c, err) < 0)
		return -1;
	for (size_t i = 0; i < c->queues.n; i++)
		if (plan_add_queue(p, c->queues.v[i], &c->objects[i], &starter, err) < 0)
			return -1;
	return 0;
}

/* 1: has to be made; 0: is there as it has to be; -1: is something else. */
static int accounting_missing(const char *dir, struct error *err)
{
	struct stat st;

	if (lstat(dir, &st) < 0)
		return errno == ENOENT ? 1 : error_errno(err, "%s", dir);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_CONF, "%s: not a folder", dir);
	if ((st.st_mode & 07777) != ACCOUNTING_MODE)
		return error_set(
			err, ERR_CONF,
			"%s has mode %04o instead of %04o; it isn't ours: change it, or set accounting_dir",
			dir, (unsigned)st.st_mode & 07777, ACCOUNTING_MODE);
	return 0;
}

/* --- printing it --- */

static bool changes(char *const pair[2])
{
	return strcmp(pair[0], pair[1]) != 0;
}

static size_t print_plan(const struct plan *p, const char *accounting)
{
	size_t lines = p->npes + (accounting != NULL);

	for (size_t i = 0; i < p->npes; i++)
		printf("parallel environment %s: add, allocation_rule %s\n", p->pes[i].name,
		       qconf_get(&p->pes[i].object, "allocation_rule"));
	for (size_t i = 0; i < p->nqueues; i++) {
		const struct plan_queue *q = &p->queues[i];

		for (size_t k = 0; k < q->nchains; k++, lines++)
			printf("script %s: write, calls the queue's own starter first\n", q->chains[k].path);
		if (changes(q->pe_list)) {
			printf("queue %s: pe_list %s\n", q->name, q->pe_list[1]);
			lines++;
		}
		if (changes(q->starter)) {
			printf("queue %s: starter_method %s (was %s)\n", q->name, q->starter[1],
			       q->starter[0]);
			lines++;
		}
	}
	if (accounting)
		printf("folder %s: make, mode %04o\n", accounting, ACCOUNTING_MODE);
	return lines;
}

/* --- doing it --- */

static int store_queue(const struct plan_queue *q, struct error *err)
{
	cleanup_qconf_object struct qconf_object o = QCONF_OBJECT_INIT;

	if (!changes(q->pe_list) && !changes(q->starter))
		return 0;
	/* as it is now: only our two attributes change */
	if (qconf_show("-sq", q->name, &o, err) < 0)
		return -1;
	qconf_set(&o, "pe_list", q->pe_list[1]);
	qconf_set(&o, "starter_method", q->starter[1]);
	if (qconf_store("-Mq", &o, err) < 0)
		return error_wrap(err, "queue %s", q->name);
	return 0;
}

static int write_chain(const struct plan_chain *c, struct error *err)
{
	if (unlink(c->path) < 0 && errno != ENOENT)
		return error_errno(err, "%s", c->path);
	return path_write_newat(AT_FDCWD, c->path, 0755, c->text, strlen(c->text), true, err);
}

static int make_accounting(const char *dir, struct error *err)
{
	cleanup_free char *parent = xstrdup(dir);
	char *slash = strrchr(parent, '/');

	if (slash && slash != parent) {
		*slash = '\0';
		if (path_mkdirs(parent, 0755) < 0)
			return error_errno(err, "%s", parent);
	}
	/* chmod: the umask doesn't count here */
	if (mkdir(dir, 0700) < 0 || chmod(dir, ACCOUNTING_MODE) < 0)
		return error_errno(err, "%s", dir);
	return 0;
}

/* The state first: whatever happens then, uninstall knows what there was before. */
static int apply(const struct plan *p, const struct install_paths *paths, const char *accounting,
		 struct error *err)
{
	cleanup_install_state struct install_state state = INSTALL_STATE_INIT;
	bool found;

	if (path_mkdirs(paths->dir, 0755) < 0)
		return error_errno(err, "%s", paths->dir);
	if (install_state_read(&state, paths->state, &found, err) < 0)
		return -1;
	install_state_add(&state, p);
	if (accounting)
		replace_str(&state.made_dir, accounting);
	if (install_state_write(&state, paths->state, err) < 0)
		return -1;
	for (size_t i = 0; i < p->npes; i++)
		if (qconf_store("-Ap", &p->pes[i].object, err) < 0)
			return error_wrap(err, "parallel environment %s", p->pes[i].name);
	if (accounting && make_accounting(accounting, err) < 0)
		return -1;
	for (size_t i = 0; i < p->nqueues; i++)
		for (size_t k = 0; k < p->queues[i].nchains; k++)
			if (write_chain(&p->queues[i].chains[k], err) < 0)
				return -1;
	for (size_t i = 0; i < p->nqueues; i++)
		if (store_queue(&p->queues[i], err) < 0)
			return -1;
	return 0;
}

int install_run(const struct install_options *o, const struct conf *conf, struct error *err)
{
	cleanup_install_paths struct install_paths paths = INSTALL_PATHS_INIT;
	cleanup(cell_release) struct cell cell = { .conf = conf };
	cleanup_plan struct plan plan = PLAN_INIT;
	const char *accounting = NULL;
	int missing;
	size_t lines;

	if (install_paths_find(&paths, err) < 0 || load_cell(&cell, o, err) < 0 ||
	    make_plan(&plan, &cell, o, &paths, err) < 0)
		return -1;
	missing = conf->accounting_dir ? accounting_missing(conf->accounting_dir, err) : 0;
	if (missing < 0)
		return -1;
	if (missing)
		accounting = conf->accounting_dir;
	lines = print_plan(&plan, accounting);
	if (!lines) {
		puts("everything is in place");
		return 0;
	}
	if (!o->apply) {
		puts("nothing was changed; with --apply it is done");
		return 0;
	}
	fflush(stdout);
	if (install_check_manager(err) < 0 || apply(&plan, &paths, accounting, err) < 0)
		return -1;
	puts("done");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/install_plan.h"

#include "common/mem.h"
#include "common/strbuf.h"

#include <string.h>
#include <strings.h>

static void queue_release(struct plan_queue *q)
{
	free(q->name);
	for (int i = 0; i < 2; i++) {
		free(q->pe_list[i]);
		free(q->starter[i]);
	}
	for (size_t i = 0; i < q->nchains; i++) {
		free(q->chains[i].path);
		free(q->chains[i].text);
	}
	free(q->chains);
}

void plan_release(struct plan *p)
{
	for (size_t i = 0; i < p->npes; i++) {
		free(p->pes[i].name);
		qconf_object_release(&p->pes[i].object);
	}
	free(p->pes);
	for (size_t i = 0; i < p->nqueues; i++)
		queue_release(&p->queues[i]);
	free(p->queues);
	argvec_release(&p->family);
	memset(p, 0, sizeof(*p));
}

static bool is_none(const char *value)
{
	return !*value || !strcasecmp(value, "NONE");
}

long plan_queue_slots(const char *slots, struct error *err)
{
	cleanup_qconf_object struct qconf_object parts = QCONF_OBJECT_INIT;
	long most = 0;

	if (qconf_split_hosts(slots, &parts, err) < 0)
		return -1;
	for (size_t i = 0; i < parts.values.n; i++) {
		char *end;
		long n = strtol(parts.values.v[i], &end, 10);

		if (end == parts.values.v[i] || *end || n < 0)
			return error_set(err, ERR_ENGINE, "can't read slots \"%s\"", slots);
		most = n > most ? n : most;
	}
	return most;
}

/* --- parallel environments --- */

/* What has to be so for us, and what is set once and left to the site. */
static const struct {
	const char *attribute, *value;
	bool matters;
} settings[] = {
	{ "slots", "99999", false },
	{ "user_lists", "NONE", false },
	{ "xuser_lists", "NONE", false },
	{ "start_proc_args", "NONE", true },
	{ "stop_proc_args", "NONE", true },
	{ "control_slaves", "TRUE", true },
	{ "job_is_first_task", "FALSE", true },
	{ "urgency_slots", "min", false },
	{ "accounting_summary", "FALSE", false },
	{ "qsort_args", "NONE", false },
	{ "ign_sreq_on_mhost", "FALSE", false },
	{ "master_forks_slaves", "FALSE", true },
	{ "daemon_forks_slaves", "FALSE", true },
};

static const char *const attributes_sge[] = { "pe_name",
					      "slots",
					      "user_lists",
					      "xuser_lists",
					      "start_proc_args",
					      "stop_proc_args",
					      "allocation_rule",
					      "control_slaves",
					      "job_is_first_task",
					      "urgency_slots",
					      "accounting_summary",
					      "qsort_args",
					      NULL };
static const char *const attributes_ocs[] = { "pe_name",
					      "slots",
					      "user_lists",
					      "xuser_lists",
					      "start_proc_args",
					      "stop_proc_args",
					      "allocation_rule",
					      "control_slaves",
					      "job_is_first_task",
					      "urgency_slots",
					      "accounting_summary",
					      "ign_sreq_on_mhost",
					      "master_forks_slaves",
					      "daemon_forks_slaves",
					      NULL };

static const char *setting(const char *attribute)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (!strcmp(settings[i].attribute, attribute))
			return settings[i].value;
	return "NONE"; /* an attribute of a later engine: what every list and path there starts as */
}

void plan_pe_object(const char *name, const char *rule, bool is_ocs, const struct qconf_object *like,
		    struct qconf_object *o)
{
	const char *const *attribute = is_ocs ? attributes_ocs : attributes_sge;

	if (like)
		attribute = (const char *const *)like->names.v;
	for (; *attribute; attribute++)
		qconf_set(o, *attribute, setting(*attribute));
	qconf_set(o, "pe_name", name);
	qconf_set(o, "allocation_rule", rule);
}

bool plan_pe_is_right(const struct qconf_object *o, const char *rule, const char **why)
{
	const char *value = qconf_get(o, "allocation_rule");

	*why = "allocation_rule";
	if (!value || strcmp(value, rule))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		value = qconf_get(o, settings[i].attribute);
		*why = settings[i].attribute;
		if (settings[i].matters && value && strcasecmp(value, settings[i].value))
			return false;
	}
	return true;
}

int plan_add_pe(struct plan *p, const char *name, const char *rule, bool is_ocs,
		const struct qconf_object *like, const struct qconf_object *existing, struct error *err)
{
	struct plan_pe *pe;
	const char *why;

	argvec_push(&p->family, name);
	if (existing && !plan_pe_is_right(existing, rule, &why))
		return error_set(
			err, ERR_ENGINE,
			"parallel environment %s exists with another %s (%s); it isn't ours: rename it, or choose another "
			"pe_family in slurm-on-ocs.conf",
			name, why, qconf_get(existing, why) ? qconf_get(existing, why) : "none");
	if (existing)
		return 0;
	p->pes = xreallocarray(p->pes, p->npes + 1, sizeof(*p->pes));
	pe = &p->pes[p->npes++];
	*pe = (struct plan_pe){ .name = xstrdup(name) };
	plan_pe_object(name, rule, is_ocs, like, &pe->object);
	return 0;
}

/* --- queues --- */

/* Every part that is in force gets the family; a host that the site gave NONE keeps it. */
static char *with_family(const char *pe_list, const struct argvec *family, struct error *err)
{
	cleanup_qconf_object struct qconf_object parts = QCONF_OBJECT_INIT;

	if (qconf_split_hosts(pe_list, &parts, err) < 0)
		return NULL;
	for (size_t i = 0; i < parts.values.n; i++) {
		if (i && is_none(parts.values.v[i]))
			continue;
		for (size_t k = 0; k < family->n; k++) {
			char *more = qconf_list_add(parts.values.v[i], family->v[k]);

			free(parts.values.v[i]);
			parts.values.v[i] = more;
		}
	}
	return qconf_join_hosts(&parts);
}

char *plan_without_family(const char *pe_list, const struct argvec *family, struct error *err)
{
	cleanup_qconf_object struct qconf_object parts = QCONF_OBJECT_INIT;

	if (qconf_split_hosts(pe_list, &parts, err) < 0)
		return NULL;
	for (size_t i = 0; i < parts.values.n; i++) {
		for (size_t k = 0; k < family->n; k++) {
			char *less;

			if (!qconf_list_has(parts.values.v[i], family->v[k]))
				continue;
			less = qconf_list_remove(parts.values.v[i], family->v[k]);
			free(parts.values.v[i]);
			parts.values.v[i] = less;
		}
	}
	return qconf_join_hosts(&parts);
}

/* The script that makes one starter of two: the site's, called with ours and the job's words, as it is with a job. */
static char *add_chain(struct plan_queue *q, const char *host, const char *site, const struct plan_starter *s)
{
	struct plan_chain *chain;
	struct strbuf text = STRBUF_INIT;
	char *path = xasprintf("%s/starter.%s%s%s", s->chain_dir, q->name, *host ? "." : "", host);

	strbuf_addstr(
		&text,
		"#!/bin/sh\n# made by slurm-on-ocs install --chain: the queue's own starter_method, then ours\nexec ");
	strbuf_add_shell_quoted(&text, site);
	strbuf_addch(&text, ' ');
	strbuf_add_shell_quoted(&text, s->path);
	strbuf_addstr(&text, " \"$@\"\n");
	q->chains = xreallocarray(q->chains, q->nchains + 1, sizeof(*q->chains));
	chain = &q->chains[q->nchains++];
	chain->path = xstrdup(path);
	chain->text = strbuf_steal(&text);
	return path;
}

static bool is_chain_of_ours(const char *value, const struct plan_starter *s)
{
	size_t n = strlen(s->chain_dir);

	return !strncmp(value, s->chain_dir, n) && !strncmp(value + n, "/starter.", strlen("/starter."));
}

static char *with_starter(struct plan_queue *q, const char *value, const struct plan_starter *s,
			  struct error *err)
{
	cleanup_qconf_object struct qconf_object parts = QCONF_OBJECT_INIT;

	if (qconf_split_hosts(value, &parts, err) < 0)
		return NULL;
	for (size_t i = 0; i < parts.values.n; i++) {
		const char *site = parts.values.v[i];
		char *ours;

		if (!strcmp(site, s->path) || is_chain_of_ours(site, s))
			continue;
		if (!is_none(site) && !s->chain) {
			error_set(
				err, ERR_ENGINE,
				"queue %s has a starter_method of its own (%s); --chain calls it first, with ours as its command",
				q->name, site);
			return NULL;
		}
		if (!is_none(site) && (*site != '/' || strpbrk(site, " \t"))) {
			error_set(err, ERR_ENGINE,
				  "queue %s: its starter_method \"%s\" is no path that could be called",
				  q->name, site);
			return NULL;
		}
		ours = is_none(site) ? xstrdup(s->path) : add_chain(q, parts.names.v[i], site, s);
		free(parts.values.v[i]);
		parts.values.v[i] = ours;
	}
	return qconf_join_hosts(&parts);
}

int plan_add_queue(struct plan *p, const char *name, const struct qconf_object *queue,
		   const struct plan_starter *s, struct error *err)
{
	const char *pe_list = qconf_get(queue, "pe_list");
	const char *starter = qconf_get(queue, "starter_method");
	struct plan_queue *q;

	if (!pe_list || !starter)
		return error_set(err, ERR_ENGINE, "queue %s has no pe_list or no starter_method", name);
	p->queues = xreallocarray(p->queues, p->nqueues + 1, sizeof(*p->queues));
	q = &p->queues[p->nqueues++];
	*q = (struct plan_queue){ .name = xstrdup(name) };
	q->pe_list[0] = xstrdup(pe_list);
	q->starter[0] = xstrdup(starter);
	q->pe_list[1] = with_family(pe_list, &p->family, err);
	q->starter[1] = q->pe_list[1] ? with_starter(q, starter, s, err) : NULL;
	return q->starter[1] ? 0 : -1;
}

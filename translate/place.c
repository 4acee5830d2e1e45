/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/place.h"

#include "common/mem.h"
#include "ocs/qconf.h"

#include <string.h>

void place_release(struct place *p)
{
	free(p->queue);
	free(p->pe);
	complex_list_release(&p->complexes);
	resources_release(&p->resources);
	host_choice_release(&p->hosts);
	argvec_release(&p->unattached);
	*p = (struct place)PLACE_INIT;
}

static int invalid_partition(const char *name, struct error *err)
{
	return error_set(err, ERR_VALUE,
			 "invalid partition specified: %s\n"
			 "Batch job submission failed: Invalid partition name specified",
			 *name ? name : "(null)");
}

/* A partition is a queue; what would be a pattern, a host or a host group to the engine is no name of a partition. */
static int choose_queue(struct place *p, const struct conf *conf, const char *partitions, struct error *err)
{
	cleanup_strbuf struct strbuf queues = STRBUF_INIT;

	if (!partitions)
		return 0;
	do {
		size_t n = strcspn(partitions, ",");
		cleanup_free char *name = xstrndup(partitions, n);
		const struct conf_partition *row = conf_partition(conf, name);

		if (!*name || strpbrk(name, "*?[]@!|&()\\ "))
			return invalid_partition(name, err);
		strbuf_addf(&queues, "%s%s", queues.len ? "," : "", row && row->queue ? row->queue : name);
		partitions += n;
	} while (*partitions++ == ',');
	p->queue = strbuf_steal(&queues);
	return 0;
}

/* The PE that the site names for the partition; the first of several partitions decides. */
static const char *forced_pe(const struct conf *conf, const char *partitions)
{
	cleanup_free char *name = partitions ? xstrndup(partitions, strcspn(partitions, ",")) : NULL;
	const struct conf_partition *row = name ? conf_partition(conf, name) : NULL;

	return row ? row->pe : NULL;
}

void place_widths_parse(const char *text, uint32_t *widest, uint32_t *narrowest)
{
	*widest = *narrowest = 0;

	/* "all.q@c1   BIP   0/1/4   0.02 ...": reserved/used/total; engines before 6.2 print used/total. */
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *end = line + strcspn(line, "\n");
		const char *at = line + strcspn(line, " \n"), *slash = NULL;
		unsigned long n;

		if (*line == ' ' || !memchr(line, '@', (size_t)(at - line)))
			continue;
		at += strspn(at, " ");
		at += strcspn(at, " \n");
		at += strspn(at, " ");
		for (const char *c = at; c < end && *c != ' '; c++)
			if (*c == '/')
				slash = c;
		n = slash ? strtoul(slash + 1, NULL, 10) : 0;
		if (n > INT32_MAX)
			n = INT32_MAX;
		if (n > *widest)
			*widest = (uint32_t)n;
		if (n && (!*narrowest || n < *narrowest))
			*narrowest = (uint32_t)n;
	}
}

int place_widths(const char *queue, int timeout, uint32_t *widest, uint32_t *narrowest, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	/* A user without jobs: the queues alone are wanted. */
	argvec_pushl(&argv, "qstat", "-f", "-u", "nobody", NULL);
	if (queue)
		argvec_pushl(&argv, "-q", queue, NULL);
	if (engine_run(&argv, NULL, timeout, &answer, err) < 0)
		return -1;
	place_widths_parse(answer.out.buf, widest, narrowest);
	return 0;
}

static int no_pe(const struct conf *conf, const struct geometry *g, bool has_par, const char *forced,
		 struct error *err)
{
	char need[128];

	if (forced)
		return error_set(
			err, ERR_ENGINE,
			"Batch job submission failed: parallel environment %s of the configuration doesn't exist or "
			"has another allocation_rule than %u; correct it, or run slurm-on-ocs install",
			forced, g->per_host);
	if (has_par)
		snprintf(need, sizeof(need), "none with control_slaves TRUE");
	else if (g->per_host)
		snprintf(need, sizeof(need), "none named %.60s.%u or with allocation_rule %u",
			 conf->pe_family, g->per_host, g->per_host);
	else
		snprintf(need, sizeof(need), "none named %.60s.fill or with allocation_rule $fill_up",
			 conf->pe_family);
	return error_set(
		err, ERR_ENGINE,
		"Batch job submission failed: no parallel environment for this geometry (%s); an administrator "
		"makes it with: slurm-on-ocs install",
		need);
}

/*
 * The request as geometry is to see it. --exclusive: all slots of each host, as Slurm gives all CPUs; where hosts differ
 * in slots that can't be asked for, and a complex must keep others out.
 */
static int adjust(const struct place *p, const struct conf *conf, const struct request *r,
		  struct request *adjusted, struct error *err)
{
	*adjusted = *r;
	if (!r->exclusive)
		return 0;
	if (p->widest != p->narrowest)
		return resources_exclusive(conf, &p->complexes, err) ? 0 : -1;
	if (p->widest && (r->mincpus == REQUEST_UNSET || r->mincpus < p->widest))
		adjusted->mincpus = p->widest;
	return 0;
}

/* Geometry and PE from the PEs of l; 1 when none fits. */
static int choose_from(struct place *p, const struct conf *conf, const struct pe_list *l,
		       const struct request *r, const char *forced, bool has_par, struct error *err)
{
	bool may_fill = pe_can_fill(l, forced, has_par, &p->unattached) &&
			!resources_need_hosts(r, conf, &p->complexes);
	struct pe_choice choice;
	struct request adjusted;

	if (!p->widest && geometry_needs_width(r, may_fill) &&
	    place_widths(p->queue, conf->engine_timeout, &p->widest, &p->narrowest, err) < 0)
		return -1;
	if (adjust(p, conf, r, &adjusted, err) < 0 ||
	    geometry_plan(&adjusted, p->widest, may_fill, &p->geometry, err) < 0)
		return -1;
	if (geometry_is_serial(&p->geometry))
		return 0;
	if (pe_choose(l, &p->geometry, forced, has_par, &p->unattached, &choice) < 0)
		return 1;
	p->pe = xstrdup(choice.name);
	memcpy(p->par, choice.par, sizeof(p->par));
	return 0;
}

/* Names first (one call, cached), then the rules of what isn't the installer's, then without the cache. */
static int choose_pe(struct place *p, const struct conf *conf, const struct request *r, const char *forced,
		     const char *dir, struct error *err)
{
	cleanup_pe_list struct pe_list l = PE_LIST_INIT;
	struct engine_kind kind;
	int rc = 1;

	if (engine_kind(&kind, err) < 0)
		return -1;
	for (int fresh = 0; rc == 1 && fresh <= 1; fresh++) {
		if (pe_list_load(&l, dir, conf->pe_family, fresh, err) < 0)
			return -1;
		rc = choose_from(p, conf, &l, r, forced, kind.has_par, err);
		if (rc != 1)
			break;
		if (pe_list_complete(&l, dir, err) < 0)
			return -1;
		rc = choose_from(p, conf, &l, r, forced, kind.has_par, err);
	}
	return rc == 1 ? no_pe(conf, &p->geometry, kind.has_par, forced, err) : rc;
}

/* Queue, geometry and PE. */
static int choose_slots(struct place *p, const struct conf *conf, const struct request *r, const char *dir,
			struct error *err)
{
	const char *partitions = r->partition ? r->partition : conf->default_partition;

	/* The usual small job needs no look at PEs. */
	if (!geometry_needs_width(r, true) && !resources_need_hosts(r, conf, &p->complexes)) {
		if (geometry_plan(r, 0, true, &p->geometry, err) < 0)
			return -1;
		if (geometry_is_serial(&p->geometry))
			return 0;
	}
	return choose_pe(p, conf, r, forced_pe(conf, partitions), dir, err);
}

/* The hosts of queue instances ("all.q@c1" a line), each once. */
static void add_hosts(struct argvec *hosts, const char *text)
{
	for (const char *p = text; *p; p += *p == '\n') {
		size_t n = strcspn(p, "\n");
		const char *at = memchr(p, '@', n);
		cleanup_free char *host = at ? xstrndup(at + 1, (size_t)(p + n - at - 1)) : NULL;
		bool known = !host;

		for (size_t i = 0; !known && i < hosts->n; i++)
			known = !strcmp(hosts->v[i], host);
		if (!known)
			argvec_push_take(hosts, steal_ptr(&host));
		p += n;
	}
}

/* Hosts that have one of the alternatives. */
static int hosts_with(struct argvec *hosts, const char *alternatives, int timeout, struct error *err)
{
	for (const char *p = alternatives; *p; p += *p == '|') {
		cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
		cleanup_argvec struct argvec argv = ARGVEC_INIT;
		size_t n = strcspn(p, "|");

		argvec_pushl(&argv, "qselect", "-l", NULL);
		argvec_push_take(&argv, xstrndup(p, n));
		/* none is an error to qselect */
		if (engine_run(&argv, NULL, timeout, &answer, err) < 0)
			return -1;
		if (engine_is_down(&answer))
			return engine_refusal(&answer, err);
		add_hosts(hosts, answer.out.buf);
		p += n;
	}
	return 0;
}

static void intersect(struct argvec *a, const struct argvec *b)
{
	cleanup_argvec struct argvec both = ARGVEC_INIT;

	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (!strcmp(a->v[i], b->v[k]))
				argvec_push(&both, a->v[i]);
	argvec_release(a);
	*a = both;
	both = (struct argvec)ARGVEC_INIT;
}

/* -w, -x, and what --constraint leaves of the hosts where -l can't say it. */
static int choose_hosts(struct place *p, const struct conf *conf, const struct request *r, struct error *err)
{
	const struct argvec *any_of = &p->resources.any_of;
	cleanup_argvec struct argvec known = ARGVEC_INIT, allowed = ARGVEC_INIT;

	if (!r->nodelist && !r->exclude && !any_of->n)
		return 0;
	for (size_t i = 0; i < any_of->n; i++) {
		cleanup_argvec struct argvec some = ARGVEC_INIT;

		if (hosts_with(i ? &some : &allowed, any_of->v[i], conf->engine_timeout, err) < 0)
			return -1;
		if (i)
			intersect(&allowed, &some);
	}
	if (qconf_list("-sel", &known, err) < 0)
		return error_wrap(err, "Batch job submission failed");
	return hosts_choose(&p->hosts, r, &p->geometry, &known, any_of->n ? &allowed : NULL, err);
}

/* Slots, PE and requests, with the cell's complexes as they are in the cache, or fresh. */
static int plan(struct place *p, const struct conf *conf, const struct request *r, const char *dir,
		bool fresh, bool *cached, struct error *err)
{
	*cached = false;
	if (!resources_needed(r))
		return choose_slots(p, conf, r, dir, err);
	complex_list_release(&p->complexes);
	resources_release(&p->resources);
	free(p->pe);
	p->pe = NULL;
	if (complex_list_load(&p->complexes, dir, fresh, conf->engine_timeout, cached, err) < 0)
		return error_wrap(err, "Batch job submission failed");
	if (choose_slots(p, conf, r, dir, err) < 0)
		return -1;
	return resources_plan(&p->resources, r, &p->geometry, conf, &p->complexes, err);
}

int place_choose(struct place *p, const struct conf *conf, const struct request *r, const char *dir,
		 struct error *err)
{
	const char *partitions = r->partition ? r->partition : conf->default_partition;
	bool cached;

	if (choose_queue(p, conf, partitions, err) < 0)
		return -1;
	/* What isn't there may have been added a moment ago. */
	if (plan(p, conf, r, dir, false, &cached, err) < 0 &&
	    (!cached || plan(p, conf, r, dir, true, &cached, err) < 0))
		return -1;
	return choose_hosts(p, conf, r, err);
}

/* Is there a queue, of those in question, that offers the PE? An engine that can't say it counts as yes. */
static bool is_offered(const struct place *p, int timeout)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;

	argvec_pushl(&argv, "qselect", "-pe", p->pe, NULL);
	if (p->queue)
		argvec_pushl(&argv, "-q", p->queue, NULL);
	if (engine_run(&argv, NULL, timeout, &answer, NULL) < 0 || engine_is_down(&answer))
		return true;
	return strchr(answer.out.buf, '@') != NULL;
}

int place_other_pe(struct place *p, const struct conf *conf, const struct request *r, const char *dir,
		   struct error *err)
{
	const char *partitions = r->partition ? r->partition : conf->default_partition;
	const struct geometry before = p->geometry;
	cleanup_free char *pe = NULL;

	if (!p->pe || is_offered(p, conf->engine_timeout))
		return 1;
	pe = steal_ptr(&p->pe);
	argvec_push(&p->unattached, pe);
	if (choose_pe(p, conf, r, forced_pe(conf, partitions), dir, NULL) == 0 &&
	    p->geometry.per_host == before.per_host && p->geometry.max_slots == before.max_slots &&
	    p->geometry.min_slots == before.min_slots)
		return 0;
	p->geometry = before;
	return error_set(
		err, ERR_ENGINE,
		"Batch job submission failed: no queue%s%s offers parallel environment %s, and no other fits; an "
		"administrator adds it with: qconf -aattr queue pe_list %s %s",
		p->queue ? " of " : "", p->queue ? p->queue : "", pe, pe, p->queue ? p->queue : "QUEUE");
}

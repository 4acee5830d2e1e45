/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/layout.h"

#include "common/counts.h"
#include "common/hostlist.h"
#include "common/mem.h"

#include <string.h>

static const char too_many[] = "More processors requested than permitted";
static const char not_available[] = "Requested node configuration is not available";

void layout_request_init(struct layout_request *r)
{
	*r = (struct layout_request){
		.min_nodes = LAYOUT_UNSET,
		.max_nodes = LAYOUT_UNSET,
		.ntasks = LAYOUT_UNSET,
		.cpus_per_task = LAYOUT_UNSET,
		.ntasks_per_node = LAYOUT_UNSET,
		.relative = LAYOUT_UNSET,
	};
}

void layout_request_release(struct layout_request *r)
{
	free(r->nodelist);
	free(r->exclude);
	*r = (struct layout_request){ 0 };
}

void layout_release(struct layout *l)
{
	for (uint32_t i = 0; l->ranks && i < l->nnodes; i++)
		free(l->ranks[i]);
	free(l->ranks);
	free(l->node);
	free(l->tasks);
	free(l->cpus);
	*l = (struct layout){ 0 };
}

/* --- srun's half --- */

static uint32_t unique_names(const struct hostlist *hl)
{
	uint32_t n = 0;

	for (size_t i = 0; i < hl->names.n; i++)
		n += hostlist_find(hl, hl->names.v[i]) == (long)i;
	return n;
}

/* -m arbitrary: the list says it all, one name a task. */
static int settle_arbitrary(struct layout_request *r, struct error *err)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;

	if (r->nodelist && hostlist_parse(&hl, r->nodelist, err) < 0)
		return -1;
	if (r->ntasks == LAYOUT_UNSET)
		r->ntasks = (uint32_t)hl.names.n;
	if (!hl.names.n || r->ntasks != hl.names.n)
		return error_set(err, ERR_VALUE, "You asked for %u tasks but hostlist specified %zu nodes",
				 r->ntasks, hl.names.n);
	r->min_nodes = r->max_nodes = unique_names(&hl);
	return 0;
}

static void warn_nodes(struct layout_request *r, struct argvec *warnings)
{
	if (r->max_nodes != LAYOUT_UNSET && r->ntasks < r->max_nodes)
		r->max_nodes = r->ntasks;
	if (r->ntasks >= r->min_nodes)
		return;
	argvec_pushf(warnings, "can't run %u processes on %u nodes, setting nnodes to %u", r->ntasks,
		     r->min_nodes, r->ntasks);
	r->min_nodes = r->max_nodes = r->ntasks;
}

static void warn_tasks_per_node(struct layout_request *r, struct argvec *warnings)
{
	uint32_t tpn = r->ntasks_per_node;

	if (tpn == LAYOUT_UNSET || r->ntasks <= tpn || !r->min_nodes || r->ntasks / r->min_nodes == tpn)
		return;
	argvec_pushf(
		warnings,
		"can't honor --ntasks-per-node set to %u which doesn't match the requested tasks %u with the number "
		"of requested nodes %u. Ignoring --ntasks-per-node.",
		tpn, r->ntasks, r->min_nodes);
	r->ntasks_per_node = LAYOUT_UNSET;
}

/* Is there room for min_nodes in what the job has? */
static int check_nodes(const struct layout_request *r, const struct layout_job *job, bool from_job,
		       struct error *err)
{
	cleanup_hostlist struct hostlist all = HOSTLIST_INIT;
	cleanup_hostlist struct hostlist out = HOSTLIST_INIT;
	uint32_t n, left;

	if (!job->nodelist || hostlist_parse(&all, job->nodelist, NULL) < 0 || !all.names.n)
		return 0;
	n = left = (uint32_t)all.names.n;
	if (r->exclude && hostlist_parse(&out, r->exclude, err) < 0)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		left -= hostlist_find(&out, all.names.v[i]) >= 0;
	if (!left)
		return error_set(err, ERR_VALUE, "Hostlist is empty!  Can't run job.");
	if (r->relative != LAYOUT_UNSET && r->relative + r->min_nodes > n)
		return error_set(
			err, ERR_VALUE,
			"--relative and %s option incompatible with count of allocated nodes (%u+%u>%u)",
			from_job ? "SLURM_JOB_NUM_NODES" : "--nodes", r->relative, r->min_nodes, n);
	if (r->min_nodes > left)
		return error_set(err, ERR_VALUE, "Only allocated %u nodes asked for %u%s", left, r->min_nodes,
				 left < n ? "\nAre required nodes explicitly excluded?" : "");
	return 0;
}

/* -c without -n in a job: as many tasks as its CPUs give. 0: unknown. */
static uint32_t tasks_by_cpus(const struct layout_job *job, uint32_t cpus_per_task)
{
	cleanup_free uint32_t *cpus = NULL;
	uint32_t tasks = 0;
	size_t n = 0;

	if (!job->cpus_per_node || counts_parse(job->cpus_per_node, HOSTLIST_MAX_RANGE, &cpus, &n, NULL) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		tasks += cpus[i] / cpus_per_task;
	return tasks;
}

static uint32_t default_tasks(const struct layout_request *r, const struct layout_job *job, bool from_job,
			      bool cpus_given)
{
	uint32_t n = from_job && cpus_given ? tasks_by_cpus(job, r->cpus_per_task) : 0;

	if (n)
		return n;
	return r->ntasks_per_node != LAYOUT_UNSET ? r->min_nodes * r->ntasks_per_node : r->min_nodes;
}

int layout_settle(struct layout_request *r, const struct layout_job *job, struct argvec *warnings,
		  struct error *err)
{
	bool from_job = r->min_nodes == LAYOUT_UNSET && job->nodes != LAYOUT_UNSET;
	bool cpus_given = r->cpus_per_task != LAYOUT_UNSET;

	if (!cpus_given)
		r->cpus_per_task = 1;
	if (r->distribution == DIST_ARBITRARY && settle_arbitrary(r, err) < 0)
		return -1;
	if (r->min_nodes == LAYOUT_UNSET) {
		r->min_nodes = job->nodes != LAYOUT_UNSET ? job->nodes : 1;
		if (r->pack && r->ntasks != LAYOUT_UNSET) {
			/* as few hosts as hold the tasks */
			r->max_nodes = r->min_nodes;
			r->min_nodes = 1;
		}
	}
	if (r->max_nodes == LAYOUT_UNSET || r->max_nodes < r->min_nodes)
		r->max_nodes = r->min_nodes;
	if (r->ntasks == LAYOUT_UNSET)
		r->ntasks = default_tasks(r, job, from_job, cpus_given);
	warn_nodes(r, warnings);
	warn_tasks_per_node(r, warnings);
	return check_nodes(r, job, from_job, err);
}

/* --- the controller's half --- */

static uint32_t room_of(const struct layout_request *r, const struct layout_host *h, bool empty)
{
	if (r->overlap || empty)
		return h->cpus;
	if (!r->exact)
		return h->used ? 0 : h->cpus;
	return h->cpus > h->used ? h->cpus - h->used : 0;
}

static void hand_out(uint32_t *counts, uint32_t *left, const uint32_t *caps, uint32_t n, bool *progress)
{
	for (uint32_t i = 0; i < n && *left; i++) {
		if (caps && counts[i] >= caps[i])
			continue;
		counts[i]++;
		(*left)--;
		*progress = true;
	}
}

static int count_even(const uint32_t *caps, uint32_t n, uint32_t ntasks, bool overcommit, uint32_t *counts)
{
	uint32_t left = ntasks;

	while (left) {
		bool progress = false;

		hand_out(counts, &left, caps, n, &progress);
		if (progress)
			continue;
		if (!overcommit || !caps)
			return -1;
		caps = NULL; /* all full: go on as if there were no limits */
	}
	return 0;
}

static uint32_t empty_after(const uint32_t *counts, uint32_t n, uint32_t i)
{
	uint32_t empty = 0;

	for (uint32_t k = i + 1; k < n; k++)
		empty += counts[k] == 0;
	return empty;
}

/* Chunks per host and round, such that every later host still gets one task. */
static int count_plane(const uint32_t *caps, uint32_t n, uint32_t ntasks, uint32_t plane, bool overcommit,
		       uint32_t *counts)
{
	uint32_t left = ntasks;

	while (left) {
		bool progress = false;

		for (uint32_t i = 0; i < n && left; i++) {
			uint32_t room = !caps ? left : caps[i] > counts[i] ? caps[i] - counts[i] : 0;
			uint32_t later = empty_after(counts, n, i);
			uint32_t take = left > later ? left - later : 0;

			take = take < plane ? take : plane;
			take = take < room ? take : room;
			counts[i] += take;
			left -= take;
			progress = progress || take;
		}
		if (progress)
			continue;
		if (!overcommit || !caps)
			return -1;
		caps = NULL;
	}
	return 0;
}

/* Fill each host, but leave one task for every later one. */
static int count_packed(const uint32_t *caps, uint32_t n, uint32_t ntasks, uint32_t *counts)
{
	uint32_t left = ntasks;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t later = n - 1 - i;
		uint32_t take = left > later ? left - later : 0;

		counts[i] = take < caps[i] ? take : caps[i];
		left -= counts[i];
	}
	return left ? -1 : 0;
}

int layout_count(const uint32_t *caps, uint32_t n, uint32_t ntasks, uint8_t distribution, uint32_t plane,
		 bool pack, bool overcommit, uint32_t *counts)
{
	memset(counts, 0, n * sizeof(*counts));
	if (pack && distribution != DIST_CYCLIC && count_packed(caps, n, ntasks, counts) == 0)
		return 0;
	memset(counts, 0, n * sizeof(*counts));
	if (distribution == DIST_PLANE && plane)
		return count_plane(caps, n, ntasks, plane, overcommit, counts);
	return count_even(caps, n, ntasks, overcommit, counts);
}

void layout_number(struct layout *l, uint32_t plane)
{
	uint32_t chunk = l->distribution == DIST_PLANE    ? plane
			 : l->distribution == DIST_CYCLIC ? 1
							  : UINT32_MAX;
	cleanup_free uint32_t *given = xcalloc(l->nnodes + 1, sizeof(*given));
	uint32_t next = 0;

	l->ranks = xcalloc(l->nnodes + 1, sizeof(*l->ranks));
	for (uint32_t i = 0; i < l->nnodes; i++)
		l->ranks[i] = xcalloc(l->tasks[i] + 1, sizeof(**l->ranks));
	while (next < l->ntasks) {
		for (uint32_t i = 0; i < l->nnodes; i++)
			for (uint32_t k = 0; k < chunk && given[i] < l->tasks[i]; k++)
				l->ranks[i][given[i]++] = next++;
	}
}

/* Hosts by name: mark[i] set for every host of list; NEVER for a name that isn't the job's. */
static int mark_hosts(const char *list, const struct layout_host *hosts, uint32_t nhosts, uint32_t limit,
		      bool *mark, bool strict)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;
	uint32_t marked = 0;

	if (hostlist_parse(&hl, list, NULL) < 0)
		return -1;
	for (size_t k = 0; k < hl.names.n && marked < limit; k++) {
		uint32_t i = 0;

		while (i < nhosts && strcmp(hosts[i].name, hl.names.v[k]))
			i++;
		if (i == nhosts && strict)
			return -1;
		if (i < nhosts && !mark[i]) {
			mark[i] = true;
			marked++;
		}
	}
	return 0;
}

struct pick {
	const struct layout_request *r;
	const struct layout_host *hosts;
	uint32_t nhosts;
	bool empty; /* as if no other step ran */
	bool *required, *excluded, *taken;
	uint32_t ntaken;
	uint64_t room; /* CPUs of those taken */
};

static void take_host(struct pick *p, uint32_t i)
{
	if (p->taken[i])
		return;
	p->taken[i] = true;
	p->ntaken++;
	p->room += room_of(p->r, &p->hosts[i], p->empty);
}

static bool usable(const struct pick *p, uint32_t i)
{
	return !p->excluded[i] && room_of(p->r, &p->hosts[i], p->empty) > 0;
}

static void take_up_to(struct pick *p, uint32_t want, bool idle_only)
{
	for (uint32_t i = 0; i < p->nhosts && p->ntaken < want; i++)
		if (usable(p, i) && (!idle_only || !p->hosts[i].steps || p->empty))
			take_host(p, i);
}

static int pick_relative(struct pick *p)
{
	for (uint32_t i = 0; i < p->r->min_nodes; i++) {
		uint32_t k = p->r->relative + i;

		if (k >= p->nhosts || !usable(p, k))
			return -1;
		take_host(p, k);
	}
	return 0;
}

static int pick_hosts(struct pick *p)
{
	uint64_t need = p->r->overcommit ? 0 : (uint64_t)p->r->ntasks * p->r->cpus_per_task;

	if (p->r->relative != LAYOUT_UNSET)
		return pick_relative(p);
	for (uint32_t i = 0; i < p->nhosts; i++) {
		if (!p->required[i])
			continue;
		if (!usable(p, i))
			return -1;
		take_host(p, i);
	}
	take_up_to(p, p->r->min_nodes, true);
	take_up_to(p, p->r->min_nodes, false);
	/* a range: all of it; packed: only while the tasks don't fit */
	while ((!p->r->pack || p->room < need) && p->ntaken < p->r->max_nodes) {
		uint32_t before = p->ntaken;

		take_up_to(p, p->ntaken + 1, false);
		if (p->ntaken == before)
			break;
	}
	return p->ntaken < p->r->min_nodes ? -1 : 0;
}

static void list_taken(const struct pick *p, struct layout *l)
{
	l->node = xcalloc(p->ntaken + 1, sizeof(*l->node));
	l->tasks = xcalloc(p->ntaken + 1, sizeof(*l->tasks));
	l->cpus = xcalloc(p->ntaken + 1, sizeof(*l->cpus));
	for (uint32_t i = 0; i < p->nhosts; i++)
		if (p->taken[i])
			l->node[l->nnodes++] = i;
}

static void settle_cpus(const struct pick *p, struct layout *l)
{
	for (uint32_t i = 0; i < l->nnodes; i++) {
		uint32_t whole = p->hosts[l->node[i]].cpus;
		uint64_t exact = (uint64_t)l->tasks[i] * p->r->cpus_per_task;

		l->cpus[i] = p->r->exact && exact < whole ? (uint32_t)exact : whole;
	}
}

static int number_arbitrary(const struct pick *p, struct layout *l)
{
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;

	if (hostlist_parse(&hl, p->r->nodelist, NULL) < 0)
		return -1;
	l->ranks = xcalloc(l->nnodes + 1, sizeof(*l->ranks));
	for (uint32_t i = 0; i < l->nnodes; i++)
		l->ranks[i] = xcalloc(l->ntasks + 1, sizeof(**l->ranks));
	for (uint32_t t = 0; t < l->ntasks; t++)
		for (uint32_t i = 0; i < l->nnodes; i++)
			if (!strcmp(p->hosts[l->node[i]].name, hl.names.v[t]))
				l->ranks[i][l->tasks[i]++] = t;
	return 0;
}

static int fill(const struct pick *p, struct layout *l)
{
	const struct layout_request *r = p->r;
	cleanup_free uint32_t *caps = xcalloc(l->nnodes + 1, sizeof(*caps));

	l->ntasks = r->ntasks;
	l->distribution = r->distribution;
	if (r->distribution == DIST_ARBITRARY)
		return number_arbitrary(p, l);
	if (r->distribution == DIST_UNSET)
		l->distribution = r->ntasks > l->nnodes ? DIST_BLOCK : DIST_CYCLIC;
	for (uint32_t i = 0; i < l->nnodes; i++) {
		caps[i] = room_of(r, &p->hosts[l->node[i]], p->empty) / r->cpus_per_task;
		if (!caps[i])
			caps[i] = 1;
	}
	if (layout_count(caps, l->nnodes, r->ntasks, l->distribution, r->plane_size, r->pack, r->overcommit,
			 l->tasks) < 0)
		return -1;
	layout_number(l, r->plane_size);
	return 0;
}

static int try_place(struct pick *p, struct layout *l)
{
	uint64_t need = p->r->overcommit ? 0 : (uint64_t)p->r->ntasks * p->r->cpus_per_task;

	memset(p->taken, 0, p->nhosts * sizeof(*p->taken));
	p->ntaken = 0;
	p->room = 0;
	if (pick_hosts(p) < 0 || p->room < need)
		return -1;
	list_taken(p, l);
	if (fill(p, l) < 0) {
		layout_release(l);
		return -1;
	}
	settle_cpus(p, l);
	return 0;
}

enum layout_verdict layout_place(const struct layout_request *r, const struct layout_host *hosts,
				 uint32_t nhosts, struct layout *out, struct error *err)
{
	cleanup_free bool *marks = xcalloc((size_t)nhosts * 3 + 1, sizeof(*marks));
	struct pick p = { .r = r,
			  .hosts = hosts,
			  .nhosts = nhosts,
			  .required = marks,
			  .excluded = marks + nhosts,
			  .taken = marks + 2 * (size_t)nhosts };
	struct layout probe = LAYOUT_INIT;

	*out = (struct layout)LAYOUT_INIT;
	if ((r->exclude && mark_hosts(r->exclude, hosts, nhosts, UINT32_MAX, p.excluded, false) < 0) ||
	    (r->nodelist && mark_hosts(r->nodelist, hosts, nhosts, r->min_nodes, p.required, true) < 0)) {
		error_set(err, ERR_VALUE, "%s", not_available);
		return LAYOUT_NEVER;
	}
	if (try_place(&p, out) == 0)
		return LAYOUT_OK;
	p.empty = true;
	if (try_place(&p, &probe) < 0) {
		error_set(err, ERR_VALUE, "%s", p.ntaken < r->min_nodes ? not_available : too_many);
		return LAYOUT_NEVER;
	}
	layout_release(&probe);
	return LAYOUT_BUSY;
}

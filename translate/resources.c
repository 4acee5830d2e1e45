/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/resources.h"

#include "common/mem.h"

#include <inttypes.h>
#include <string.h>

#define FAILED "Batch job submission failed: "
#define KIB 1024
/* How an administrator adds a complex. */
#define ADD "an administrator adds it with qconf -mc and says how much each host has with qconf -me"

void resources_release(struct resources *out)
{
	argvec_release(&out->requests);
	argvec_release(&out->warnings);
	argvec_release(&out->any_of);
	strbuf_release(&out->gpu_maps);
	out->memory = out->tmp = NULL;
}

static bool asks_memory(const struct request *r)
{
	return r->mem.mib != SIZE_UNSET || r->mem_per_cpu.mib != SIZE_UNSET ||
	       r->mem_per_gpu.mib != SIZE_UNSET;
}

static bool asks_gres(const struct request *r)
{
	return r->gres.n || r->gpus.n || r->gpus_per_node.n || r->gpus_per_task.n;
}

bool resources_needed(const struct request *r)
{
	return asks_memory(r) || asks_gres(r) || r->tmp.mib != SIZE_UNSET || r->licenses.n || r->exclusive ||
	       (r->constraint && *r->constraint);
}

/* --- how a complex counts --- */

/* A limit of the engine's: the job gets each slot's share, whether it is used up or not. */
static bool is_limit(const struct complex *c)
{
	return (c->name[0] == 'h' || c->name[0] == 's') && c->name[1] == '_';
}

/*
 * What to ask for, so that each host gives per_host of c. inexact: a slot's share may be rounded up. -1 with err where
 * the way in which c is counted can't say it.
 */
static int scale(const struct complex *c, uint64_t per_host, const struct geometry *g, bool inexact,
		 uint64_t *value, struct error *err)
{
	*value = per_host;
	if (c->count == COMPLEX_HOST || (c->count == COMPLEX_FIXED && !is_limit(c)))
		return 0;
	if (c->count == COMPLEX_JOB) {
		if (g->max_hosts == 1 || !per_host)
			return 0;
		return error_set(
			err, ERR_VALUE,
			FAILED "the engine counts complex %s once for a job, on its first host; for jobs of "
			       "several hosts an administrator makes its consumable HOST or YES (qconf -mc)",
			c->name);
	}
	if (g->per_host && (inexact || per_host % g->per_host == 0)) {
		*value = (per_host + g->per_host - 1) / g->per_host;
		return 0;
	}
	return error_set(
		err, ERR_VALUE,
		FAILED "%" PRIu64
		       " of %s on a host of %u slots: the engine counts it for each slot; ask for a "
		       "multiple of the slots, or have its consumable made HOST (JOB, for jobs of one host, "
		       "where the engine knows no HOST) by an administrator (qconf -mc)",
		per_host, c->name, g->per_host);
}

static void request_count(struct resources *out, const struct complex *c, uint64_t n)
{
	argvec_pushf(&out->requests, "%s=%" PRIu64, c->name, n);
}

/* The engine knows K, M and G. */
static void request_size(struct resources *out, const struct complex *c, uint64_t kib)
{
	bool whole = kib % KIB == 0;

	argvec_pushf(&out->requests, "%s=%" PRIu64 "%c", c->name, whole ? kib / KIB : kib, whole ? 'M' : 'K');
}

/* --- memory --- */

/* The consumable for memory: the site's choice, else one of the usual names, HOST before others. */
static const struct complex *find_memory(const struct conf *conf, const struct complex_list *l)
{
	/* other sizes (disks) are MEMORY, too, and limits such as h_vmem aren't memory that is kept for the job */
	static const char *const names[] = { "mem",         "memory",     "ram",      "mem_req",
					     "mem_request", "m_mem_free", "mem_free", "virtual_free" };
	const struct complex *found = NULL;

	if (conf->memory_complex)
		return complex_find(l, conf->memory_complex);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct complex *c = complex_find(l, names[i]);

		if (!c || strcmp(c->type, "MEMORY") || !complex_is_reserved(c))
			continue;
		if (!found || (c->count == COMPLEX_HOST && found->count != COMPLEX_HOST))
			found = c;
	}
	return found;
}

static uint64_t count_all(const struct counted_list *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].count;
	return n;
}

/* Tasks on the host that has most of them. */
static uint64_t tasks_per_host(const struct request *r, const struct geometry *g)
{
	if (r->ntasks_per_node != REQUEST_UNSET)
		return r->ntasks_per_node;
	return (r->tasks + g->min_hosts - 1) / g->min_hosts;
}

/* n of --gpus on each host. */
static int spread(uint64_t n, const struct geometry *g, uint64_t *per_host, struct error *err)
{
	if (g->min_hosts != g->max_hosts)
		return error_set(err, ERR_VALUE,
				 FAILED
				 "--gpus with a range of --nodes: say how many on each with --gpus-per-node");
	if (n % g->min_hosts)
		return error_set(err, ERR_VALUE,
				 FAILED "%" PRIu64
					" GPUs on %u hosts: the engine gives each host the same; ask for a "
					"multiple of the hosts",
				 n, g->min_hosts);
	*per_host = n / g->min_hosts;
	return 0;
}

/* All GPUs of a host. */
static int gpus_of_host(const struct request *r, const struct geometry *g, uint64_t *n, struct error *err)
{
	*n = count_all(&r->gpus_per_node);
	for (size_t i = 0; i < r->gres.n; i++)
		if (!strcmp(r->gres.v[i].name, "gpu"))
			*n += r->gres.v[i].count;
	if (*n)
		return 0;
	if (r->gpus.n)
		return spread(count_all(&r->gpus), g, n, err);
	*n = count_all(&r->gpus_per_task) * tasks_per_host(r, g);
	return 0;
}

/* MiB on each host; per_slot: of one slot, where the request is for each (0: it isn't). */
static int memory_of_host(const struct request *r, const struct geometry *g, uint64_t *mib,
			  uint64_t *per_slot, struct error *err)
{
	uint64_t gpus;

	*per_slot = r->mem_per_cpu.mib == SIZE_UNSET ? 0 : r->mem_per_cpu.mib;
	*mib = r->mem.mib;
	if (r->mem_per_cpu.mib != SIZE_UNSET) {
		*mib = *per_slot * g->per_host;
	} else if (r->mem_per_gpu.mib != SIZE_UNSET) {
		if (gpus_of_host(r, g, &gpus, err) < 0)
			return -1;
		*mib = r->mem_per_gpu.mib * gpus;
	}
	return 0;
}

/* The option that asked for memory. */
static const char *memory_option(const struct request *r)
{
	return r->mem.mib != SIZE_UNSET           ? "--mem"
	       : r->mem_per_cpu.mib != SIZE_UNSET ? "--mem-per-cpu"
						  : "--mem-per-gpu";
}

/* Without a consumable: at least no host that could never have it. */
static void approximate_memory(struct resources *out, const struct request *r, uint64_t mib,
			       const struct conf *conf, const struct complex_list *l)
{
	const struct complex *total = conf->memory_complex ? NULL : complex_find(l, "mem_total");

	if (total && (!total->requestable || total->count != COMPLEX_FIXED || strcmp(total->relop, "<=")))
		total = NULL;
	if (conf->memory_complex)
		argvec_pushf(&out->warnings, "%s is ignored: memory_complex of slurm-on-ocs.conf is none",
			     memory_option(r));
	else
		argvec_pushf(
			&out->warnings,
			"%s is done approximately: no memory is reserved%s, since the cell has no memory "
			"consumable; " ADD " (mem mem MEMORY <= YES YES 0 0)",
			memory_option(r), total ? ", hosts with less are avoided" : "");
	if (total && mib) {
		request_size(out, total, mib * KIB);
		out->memory = total->name;
	}
}

static int plan_memory(struct resources *out, const struct request *r, const struct geometry *g,
		       const struct conf *conf, const struct complex_list *l, struct error *err)
{
	const struct complex *c = find_memory(conf, l);
	bool none = conf->memory_complex && !strcmp(conf->memory_complex, "none");
	uint64_t mib, per_slot, kib;

	if (!asks_memory(r))
		return 0;
	if (memory_of_host(r, g, &mib, &per_slot, err) < 0)
		return -1;
	if (mib > UINT64_MAX / KIB / KIB || per_slot > UINT64_MAX / KIB / KIB)
		return geometry_refuse(r, 0, err);
	if (!mib && !per_slot) {
		argvec_pushf(
			&out->warnings,
			"%s=0 is done approximately: all of a host's memory can't be asked for, so nothing is",
			memory_option(r));
		return 0;
	}
	if (conf->memory_complex && !none && (!c || !c->requestable))
		return error_set(
			err, ERR_CONF,
			FAILED "memory_complex of slurm-on-ocs.conf is %s, which the cell doesn't have; " ADD,
			conf->memory_complex);
	if (!c || none) {
		approximate_memory(out, r, g->per_host ? mib : per_slot, conf, l);
		return 0;
	}
	if (per_slot && (c->count == COMPLEX_SLOT || is_limit(c)))
		kib = per_slot * KIB;
	else if (scale(c, mib * KIB, g, true, &kib, err) < 0)
		return -1;
	request_size(out, c, kib);
	out->memory = c->name;
	return 0;
}

/* --- disk --- */

static int plan_tmp(struct resources *out, const struct request *r, const struct geometry *g,
		    const struct conf *conf, const struct complex_list *l, struct error *err)
{
	const struct complex *c = conf->tmp_complex ? complex_find(l, conf->tmp_complex) : NULL;
	uint64_t kib;

	if (r->tmp.mib == SIZE_UNSET || !r->tmp.mib)
		return 0;
	if (!conf->tmp_complex)
		return error_set(err, ERR_VALUE,
				 FAILED
				 "--tmp: the engine knows no temporary disk space; leave it out, or have "
				 "tmp_complex of slurm-on-ocs.conf name a complex for it");
	if (!c || !c->requestable)
		return error_set(err, ERR_CONF,
				 FAILED
				 "tmp_complex of slurm-on-ocs.conf is %s, which the cell doesn't have; " ADD,
				 conf->tmp_complex);
	if (r->tmp.mib > UINT64_MAX / KIB / KIB)
		return geometry_refuse(r, 0, err);
	if (scale(c, r->tmp.mib * KIB, g, true, &kib, err) < 0)
		return -1;
	request_size(out, c, kib);
	out->tmp = c->name;
	return 0;
}

/* --- GPUs and other generic resources --- */

static bool is_gpu(const char *name)
{
	return !strcmp(name, "gpu");
}

/* The complex of name[:type], and the row that says so. */
static const struct complex *find_gres(const struct conf *conf, const struct complex_list *l,
				       const char *name, const char *type, const struct conf_map **row,
				       struct error *err)
{
	const char *wanted = is_gpu(name) ? conf->gpu_complex : name;
	const struct complex *c;

	*row = conf_map(&conf->gres, name, type);
	if (*row && ((*row)->complex || !is_gpu(name)))
		wanted = (*row)->complex ? (*row)->complex : name;
	if (type && !*row) {
		error_set(err, ERR_VALUE,
			  "gres of slurm-on-ocs.conf knows no type %s of %s\n"
			  "Invalid generic resource (gres) specification",
			  type, name);
		return NULL;
	}
	c = complex_find(l, wanted);
	if (c && complex_is_reserved(c))
		return c;
	error_set(err, ERR_VALUE,
		  "the cell has no consumable %s for %s; " ADD
		  "\nInvalid generic resource (gres) specification",
		  wanted, name);
	return NULL;
}

/* More of -l by the site's row: "a=1,b=2". */
static void request_words(struct resources *out, const char *words)
{
	for (const char *p = words ? words : ""; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");

		if (n)
			argvec_push_take(&out->requests, xstrndup(p, n));
		p += n;
	}
}

static void note_gpus(struct resources *out, const struct request *r, const struct complex *c)
{
	cleanup_free char *text = NULL;

	if (!strcmp(c->type, "RSMAP")) {
		strbuf_addf(&out->gpu_maps, "%s%s", out->gpu_maps.len ? "," : "", c->name);
		return;
	}
	text = xasprintf(
		"%s is done approximately: the GPUs are reserved, but this cell doesn't say which they are; "
		"CUDA_VISIBLE_DEVICES and SLURM_JOB_GPUS aren't set",
		r->gpus_per_node.n   ? "--gpus-per-node"
		: r->gpus_per_task.n ? "--gpus-per-task"
		: r->gpus.n          ? "--gpus"
				     : "--gres");
	for (size_t i = 0; i < out->warnings.n; i++)
		if (!strcmp(out->warnings.v[i], text))
			return;
	argvec_push_take(&out->warnings, steal_ptr(&text));
}

static int request_gres(struct resources *out, const struct request *r, const struct counted *v,
			uint64_t per_host, const struct geometry *g, const struct conf *conf,
			const struct complex_list *l, struct error *err)
{
	const struct conf_map *row;
	const struct complex *c;
	uint64_t n;

	if (!per_host)
		return 0;
	c = find_gres(conf, l, v->name, v->type, &row, err);
	if (!c || scale(c, per_host, g, false, &n, err) < 0)
		return -1;
	request_count(out, c, n);
	request_words(out, row ? row->request : NULL);
	if (is_gpu(v->name))
		note_gpus(out, r, c);
	return 0;
}

/* GPUs in Slurm's order of precision: on each host, for each task, in all. */
static int plan_gpus(struct resources *out, const struct request *r, const struct geometry *g,
		     const struct conf *conf, const struct complex_list *l, struct error *err)
{
	const struct counted_list *list = r->gpus_per_node.n   ? &r->gpus_per_node
					  : r->gpus_per_task.n ? &r->gpus_per_task
							       : &r->gpus;

	for (size_t i = 0; i < list->n; i++) {
		uint64_t per_host = list->v[i].count;

		if (list == &r->gpus_per_task)
			per_host *= tasks_per_host(r, g);
		else if (list == &r->gpus && spread(list->v[i].count, g, &per_host, err) < 0)
			return -1;
		if (request_gres(out, r, &list->v[i], per_host, g, conf, l, err) < 0)
			return -1;
	}
	return 0;
}

static int plan_gres(struct resources *out, const struct request *r, const struct geometry *g,
		     const struct conf *conf, const struct complex_list *l, struct error *err)
{
	bool gpus = r->gpus_per_node.n || r->gpus_per_task.n || r->gpus.n;

	for (size_t i = 0; i < r->gres.n; i++) {
		if (gpus && is_gpu(r->gres.v[i].name))
			continue; /* said more exactly */
		if (request_gres(out, r, &r->gres.v[i], r->gres.v[i].count, g, conf, l, err) < 0)
			return -1;
	}
	return plan_gpus(out, r, g, conf, l, err);
}

/* --- licenses: of the whole job --- */

static int request_license(struct resources *out, const struct complex *c, uint64_t n,
			   const struct geometry *g, struct error *err)
{
	uint64_t parts = c->count == COMPLEX_JOB ? 1 : c->count == COMPLEX_HOST ? g->min_hosts : g->min_slots;
	bool fixed = c->count == COMPLEX_JOB ||
		     (g->min_slots == g->max_slots && (g->per_host || c->count == COMPLEX_SLOT));

	if (!fixed || n % parts)
		return error_set(err, ERR_VALUE,
				 FAILED "%" PRIu64
					" licenses of %s for the job: the engine counts them for each %s; an "
					"administrator makes the complex's consumable JOB (qconf -mc)",
				 n, c->name, c->count == COMPLEX_HOST ? "host" : "slot");
	request_count(out, c, n / parts);
	return 0;
}

static int plan_licenses(struct resources *out, const struct request *r, const struct geometry *g,
			 const struct complex_list *l, struct error *err)
{
	for (size_t i = 0; i < r->licenses.n; i++) {
		const struct counted *v = &r->licenses.v[i];
		const struct complex *c = complex_find(l, v->name);

		if (!c || !complex_is_reserved(c) || !strcmp(c->name, "slots"))
			return error_set(
				err, ERR_VALUE,
				"no consumable named %s for --licenses; an administrator adds it with qconf "
				"-mc, and how many there are with qconf -me global\n" FAILED
				"Invalid license specification",
				v->name);
		if (v->count && request_license(out, c, v->count, g, err) < 0)
			return -1;
	}
	return 0;
}

/* --- features --- */

/* What one feature asks for: "intel=TRUE". Caller frees; NULL where nobody knows it. */
static char *feature_request(const struct conf *conf, const struct complex_list *l, const char *name)
{
	const struct conf_map *row = conf_map(&conf->features, name, NULL);
	const struct complex *c = complex_find(l, row && row->complex ? row->complex : name);

	if (row && row->request)
		return xstrdup(row->request);
	if (!c || !c->requestable || strcmp(c->type, "BOOL"))
		return NULL;
	return xasprintf("%s=TRUE", c->name);
}

/* Are the alternatives values of one complex? Then -l can say it: "cpu=intel|amd". */
static bool join_values(const struct argvec *requests, struct strbuf *out)
{
	size_t key = strcspn(requests->v[0], "=") + 1;

	strbuf_addstr(out, requests->v[0]);
	if (requests->n == 1)
		return true;
	for (size_t i = 0; i < requests->n; i++) {
		if (strpbrk(requests->v[i], ",|") || strncmp(requests->v[i], requests->v[0], key))
			return false;
		if (i)
			strbuf_addf(out, "|%s", requests->v[i] + key);
	}
	return true;
}

/* One side of an "&": a feature, or several with "|". -1 where nobody knows one. */
static int add_alternatives(struct resources *out, const char *text, const struct conf *conf,
			    const struct complex_list *l)
{
	cleanup_argvec struct argvec requests = ARGVEC_INIT;
	cleanup_strbuf struct strbuf joined = STRBUF_INIT;

	for (const char *p = text; *p; p += *p == '|') {
		size_t n = strcspn(p, "|");
		cleanup_free char *name = xstrndup(p, n);
		char *request = feature_request(conf, l, name);

		p += n;
		if (!request)
			return -1;
		argvec_push_take(&requests, request);
	}
	if (!requests.n)
		return -1;
	if (join_values(&requests, &joined)) {
		request_words(out, joined.buf);
		return 0;
	}
	strbuf_reset(&joined);
	for (size_t i = 0; i < requests.n; i++)
		strbuf_addf(&joined, "%s%s", i ? "|" : "", requests.v[i]);
	argvec_push(&out->any_of, joined.buf);
	return 0;
}

static int plan_features(struct resources *out, const struct request *r, const struct conf *conf,
			 const struct complex_list *l, struct error *err)
{
	const char *text = r->constraint ? r->constraint : "";

	if (strpbrk(text, "[]()*"))
		return error_set(
			err, ERR_VALUE,
			FAILED
			"--constraint %s: the engine knows no counts and groups of features; join them "
			"with & and |",
			text);
	for (const char *p = text; *p; p += *p == '&' || *p == ',') {
		size_t n = strcspn(p, "&,");
		cleanup_free char *side = xstrndup(p, n);
		bool whole = n && side[0] != '|' && side[n - 1] != '|' && !strstr(side, "||");

		if (!whole || add_alternatives(out, side, conf, l) < 0)
			return error_set(
				err, ERR_VALUE,
				"%s: no such feature; features of slurm-on-ocs.conf names them, or a requestable "
				"complex of type BOOL\n" FAILED "Invalid feature specification",
				side);
		p += n;
	}
	return 0;
}

/* --- whole hosts --- */

const struct complex *resources_exclusive(const struct conf *conf, const struct complex_list *l,
					  struct error *err)
{
	if (conf->exclusive_complex) {
		const struct complex *c = complex_find(l, conf->exclusive_complex);

		if (c && !strcmp(c->relop, "EXCL") && c->requestable)
			return c;
		error_set(
			err, ERR_CONF,
			FAILED
			"exclusive_complex of slurm-on-ocs.conf is %s, which isn't a complex with relop EXCL",
			conf->exclusive_complex);
		return NULL;
	}
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].relop, "EXCL") && l->v[i].requestable)
			return &l->v[i];
	error_set(err, ERR_VALUE,
		  FAILED
		  "--exclusive: the cell has no complex for whole hosts, and its hosts differ in slots; an "
		  "administrator adds one with qconf -mc (exclusive excl BOOL EXCL YES YES 0 1000), and "
		  "exclusive=true to each host with qconf -me");
	return NULL;
}

/* --- all of it --- */

bool resources_need_hosts(const struct request *r, const struct conf *conf, const struct complex_list *l)
{
	const struct complex *c = asks_memory(r) ? find_memory(conf, l) : NULL;

	if (asks_gres(r) || r->tmp.mib != SIZE_UNSET || r->mem_per_gpu.mib != SIZE_UNSET)
		return true;
	if (r->mem.mib != SIZE_UNSET && r->mem.mib)
		return c != NULL;
	return c && c->count != COMPLEX_SLOT && !is_limit(c);
}

int resources_plan(struct resources *out, const struct request *r, const struct geometry *g,
		   const struct conf *conf, const struct complex_list *l, struct error *err)
{
	if (plan_memory(out, r, g, conf, l, err) < 0 || plan_tmp(out, r, g, conf, l, err) < 0 ||
	    plan_gres(out, r, g, conf, l, err) < 0 || plan_licenses(out, r, g, l, err) < 0 ||
	    plan_features(out, r, conf, l, err) < 0)
		return -1;
	if (r->exclusive) {
		const struct complex *c = resources_exclusive(conf, l, NULL);

		if (c)
			argvec_pushf(&out->requests, "%s=TRUE", c->name);
		else
			argvec_push(
				&out->warnings,
				"--exclusive is done approximately: the job takes all slots of each host, since the "
				"cell has no complex with relop EXCL; other queues of the host aren't kept out");
	}
	return 0;
}

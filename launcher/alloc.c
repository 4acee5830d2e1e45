/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/alloc.h"

#include "common/fd.h"
#include "common/mem.h"
#include "common/pack.h"
#include "ocs/grant.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

/* A hostfile line is some 60 bytes: 10,000 hosts fit ten times over. */
#define HOSTFILE_MAX (8u << 20)

void alloc_release(struct alloc *a)
{
	for (size_t i = 0; i < a->nhosts; i++) {
		free(a->hosts[i].engine_name);
		free(a->hosts[i].node_name);
		free(a->hosts[i].gpus);
	}
	free(a->hosts);
	free(a->queue);
	free(a->user);
	free(a->account);
	*a = (struct alloc)ALLOC_INIT;
}

/* text[0..n) is a number from 0 to max, and nothing else. */
static int parse_number(const char *text, size_t n, uint64_t max, uint64_t *v)
{
	*v = 0;
	if (!n || n > 18)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)text[i]))
			return -1;
		*v = *v * 10 + (uint64_t)(text[i] - '0');
	}
	return *v > max ? -1 : 0;
}

static void add_host(struct alloc *a, const char *name, size_t len, uint32_t slots)
{
	for (size_t i = a->nhosts; i-- > 0;) {
		struct alloc_host *h = &a->hosts[i];

		/* one line per queue instance: a host may come again */
		if (!strncmp(h->engine_name, name, len) && !h->engine_name[len]) {
			h->slots += slots;
			return;
		}
	}
	/* grown at powers of two */
	if (!(a->nhosts & (a->nhosts - 1)))
		a->hosts = xreallocarray(a->hosts, a->nhosts ? a->nhosts * 2 : 1, sizeof(*a->hosts));
	a->hosts[a->nhosts++] = (struct alloc_host){ .engine_name = xstrndup(name, len), .slots = slots };
}

static bool same_short_name(const char *x, const char *y)
{
	size_t n = strcspn(x, ".");

	return n == strcspn(y, ".") && !strncmp(x, y, n);
}

static bool is_address(const char *name)
{
	return strspn(name, "0123456789.") == strlen(name) || strchr(name, ':');
}

static void set_node_names(struct alloc *a)
{
	for (size_t i = 0; i < a->nhosts; i++) {
		const char *name = a->hosts[i].engine_name;
		bool whole = is_address(name);

		for (size_t j = 0; j < a->nhosts && !whole; j++)
			whole = j != i && strchr(name, '.') && same_short_name(name, a->hosts[j].engine_name);
		a->hosts[i].node_name = whole ? xstrdup(name) : xstrndup(name, strcspn(name, "."));
	}
}

int alloc_parse_hostfile(struct alloc *a, const char *text, struct error *err)
{
	unsigned line = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t name = strcspn(text, " \t\n");
		const char *number = text + name + strspn(text + name, " \t");
		uint64_t slots = 0;

		line++;
		if (len &&
		    (!name || parse_number(number, strcspn(number, " \t\n"), UINT32_MAX / 2, &slots) < 0 ||
		     !slots))
			return error_set(err, ERR_ENGINE,
					 "PE_HOSTFILE: line %u: \"%.*s\" is not \"host slots ...\"", line,
					 (int)(len > 80 ? 80 : len), text);
		if (len)
			add_host(a, text, name, (uint32_t)slots);
		text += len + (text[len] == '\n');
	}
	if (!a->nhosts)
		return error_set(err, ERR_ENGINE, "PE_HOSTFILE: no hosts");
	set_node_names(a);
	return 0;
}

/* The hosts by round robin until each has its limit or left is 0; what is left. */
static uint32_t deal(struct alloc *a, const struct jobspec *job, uint32_t left, bool limited)
{
	bool dealt = true;

	while (left && dealt) {
		dealt = false;
		for (size_t i = 0; i < a->nhosts && left; i++) {
			uint32_t cpus = job->cpus_per_task == JOBSPEC_UNSET || !job->cpus_per_task
						? 1
						: job->cpus_per_task;
			uint32_t most = a->hosts[i].slots / cpus ? a->hosts[i].slots / cpus : 1;

			if (job->ntasks_per_node != JOBSPEC_UNSET && job->ntasks_per_node < most)
				most = job->ntasks_per_node;
			if (limited && a->hosts[i].tasks >= most)
				continue;
			a->hosts[i].tasks++;
			left--;
			dealt = true;
		}
	}
	return left;
}

void alloc_set_tasks(struct alloc *a, const struct jobspec *job)
{
	bool per_node = job->ntasks_per_node != JOBSPEC_UNSET && job->ntasks_per_node;

	for (size_t i = 0; i < a->nhosts; i++)
		a->hosts[i].tasks = 0;
	if (job->ntasks != JOBSPEC_UNSET && job->ntasks) {
		a->ntasks = job->ntasks;
		deal(a, job, deal(a, job, a->ntasks, true), false);
		return;
	}
	if (per_node) {
		for (size_t i = 0; i < a->nhosts; i++)
			a->hosts[i].tasks = job->ntasks_per_node;
		a->ntasks = job->ntasks_per_node * (uint32_t)a->nhosts;
		return;
	}
	deal(a, job, UINT32_MAX, true);
	a->ntasks = (uint32_t)a->nhosts;
}

/* No PE: all slots are on this host. */
static void add_this_host(struct alloc *a, const struct env *env)
{
	const char *host = env_get(env, "HOSTNAME");
	const char *nslots = env_get(env, "NSLOTS");
	char buf[256] = "";
	uint64_t slots;

	if (!host || !*host)
		host = gethostname(buf, sizeof(buf) - 1) < 0 ? "localhost" : buf;
	if (!nslots || parse_number(nslots, strlen(nslots), UINT32_MAX / 2, &slots) < 0 || !slots)
		slots = 1;
	add_host(a, host, strlen(host), (uint32_t)slots);
	set_node_names(a);
}

static int load_ids(struct alloc *a, const struct env *env, struct error *err)
{
	const char *job = env_get(env, "JOB_ID");
	const char *task = env_get(env, "SGE_TASK_ID");
	const char *restarted = env_get(env, "RESTARTED");
	uint64_t v;

	if (!job || parse_number(job, strlen(job), UINT32_MAX, &a->engine_id) < 0)
		return error_set(err, ERR_ENGINE, "JOB_ID is \"%s\": not started by Grid Engine?",
				 job ? job : "");
	if (task && strcmp(task, "undefined")) {
		if (parse_number(task, strlen(task), UINT32_MAX, &v) < 0)
			return error_set(err, ERR_ENGINE, "SGE_TASK_ID is \"%s\"", task);
		a->engine_task = (uint32_t)v;
	}
	/* an element's own id: scratch folders and ports are derived from it */
	a->job_id = a->engine_task ? a->engine_id * 100000 + a->engine_task : a->engine_id;
	if (restarted && parse_number(restarted, strlen(restarted), UINT32_MAX, &v) == 0)
		a->restart = (uint32_t)v;
	return 0;
}

int alloc_load(struct alloc *a, const struct jobspec *job, const struct env *env, struct error *err)
{
	const char *hostfile = env_get(env, "PE_HOSTFILE");
	const char *user = env_get(env, "LOGNAME");

	if (load_ids(a, env, err) < 0)
		return -1;
	if (hostfile && *hostfile) {
		cleanup_strbuf struct strbuf text = STRBUF_INIT;

		if (fd_read_file(AT_FDCWD, hostfile, HOSTFILE_MAX, &text, err) < 0 ||
		    alloc_parse_hostfile(a, text.buf, err) < 0)
			return -1;
	} else {
		add_this_host(a, env);
	}
	if (!user)
		user = env_get(env, "USER");
	a->user = user ? xstrdup(user) : xasprintf("%u", (unsigned)getuid());
	a->queue = xstrdup(env_get(env, "QUEUE"));
	a->account = xstrdup(env_get(env, "SGE_ACCOUNT"));
	alloc_set_tasks(a, job);
	return 0;
}

/* Host i's ids of all maps ("gpu,gpu_a100"), in this order. */
static void set_host_gpus(struct alloc *a, size_t i, const char *maps, const char *text)
{
	cleanup_strbuf struct strbuf ids = STRBUF_INIT;
	uint32_t task = a->engine_task ? a->engine_task : 1;
	struct alloc_host *h = &a->hosts[i];

	h->ngpus = 0;
	for (const char *p = maps; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		cleanup_free char *map = xstrndup(p, n);

		h->ngpus += grant_ids(text, task, map, h->engine_name, &ids);
		p += n;
	}
	free(h->gpus);
	h->gpus = h->ngpus ? strbuf_steal(&ids) : NULL;
}

int alloc_set_gpus(struct alloc *a, const struct jobspec *job, const char *text)
{
	bool found = false;

	for (size_t i = 0; i < a->nhosts && job->gpu_maps; i++) {
		set_host_gpus(a, i, job->gpu_maps, text);
		found |= a->hosts[i].gpus != NULL;
	}
	return found ? 0 : -1;
}

void alloc_pack(const struct alloc *a, struct strbuf *out)
{
	pack_u32(out, (uint32_t)a->nhosts);
	for (size_t i = 0; i < a->nhosts; i++) {
		pack_str(out, a->hosts[i].engine_name);
		pack_str(out, a->hosts[i].node_name);
		pack_u32(out, a->hosts[i].slots);
		pack_u32(out, a->hosts[i].tasks);
		pack_str(out, a->hosts[i].gpus);
		pack_u32(out, a->hosts[i].ngpus);
	}
	pack_u64(out, a->engine_id);
	pack_u32(out, a->engine_task);
	pack_u64(out, a->job_id);
	pack_u32(out, a->restart);
	pack_u32(out, a->ntasks);
	pack_str(out, a->queue);
	pack_str(out, a->user);
	pack_str(out, a->account);
}

int alloc_unpack(struct alloc *a, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);
	uint32_t nhosts = unpack_u32(&u);

	/* a host takes at least its three lengths and three counts */
	if (!nhosts || nhosts > u.left / 24)
		return error_set(err, ERR_PROTOCOL, "allocation: malformed");
	a->hosts = xcalloc(nhosts, sizeof(*a->hosts));
	for (; a->nhosts < nhosts && !u.bad; a->nhosts++) {
		struct alloc_host *h = &a->hosts[a->nhosts];

		h->engine_name = unpack_str(&u);
		h->node_name = unpack_str(&u);
		h->slots = unpack_u32(&u);
		h->tasks = unpack_u32(&u);
		h->gpus = unpack_str(&u);
		h->ngpus = unpack_u32(&u);
		u.bad = u.bad || !h->engine_name || !h->node_name;
	}
	a->engine_id = unpack_u64(&u);
	a->engine_task = unpack_u32(&u);
	a->job_id = unpack_u64(&u);
	a->restart = unpack_u32(&u);
	a->ntasks = unpack_u32(&u);
	a->queue = unpack_str(&u);
	a->user = unpack_str(&u);
	a->account = unpack_str(&u);
	return unpack_done(&u, "allocation", err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/stepspec.h"

#include "common/duration.h"
#include "common/mem.h"
#include "common/pack.h"

#include <string.h>

/* Says what the bytes are before anything is believed of them. */
static const char magic[] = "slurm-on-ocs step";

void stepspec_init(struct stepspec *s)
{
	*s = (struct stepspec){
		.min_nodes = STEPSPEC_UNSET,
		.max_nodes = STEPSPEC_UNSET,
		.ntasks = STEPSPEC_UNSET,
		.cpus_per_task = STEPSPEC_UNSET,
		.ntasks_per_node = STEPSPEC_UNSET,
		.relative = STEPSPEC_UNSET,
		.kill_on_bad_exit = -1,
		.time_limit = DURATION_INFINITE,
		.propagate_umask = true,
		.umask = 022,
	};
}

void stepspec_release(struct stepspec *s)
{
	argvec_release(&s->argv);
	env_release(&s->env);
	free(s->cwd);
	free(s->chdir);
	free(s->name);
	free(s->nodelist);
	free(s->exclude);
	free(s->std_in);
	free(s->std_out);
	free(s->std_err);
	*s = (struct stepspec){ 0 };
}

void stepspec_pack(const struct stepspec *s, struct strbuf *out)
{
	struct strbuf env = STRBUF_INIT;

	pack_str(out, magic);
	pack_u16(out, STEPSPEC_VERSION);
	pack_argv(out, &s->argv);
	env_pack(&s->env, &env);
	pack_bytes(out, env.buf, env.len);
	strbuf_release(&env);
	pack_str(out, s->cwd);
	pack_str(out, s->chdir);
	pack_str(out, s->name);
	pack_u32(out, s->min_nodes);
	pack_u32(out, s->max_nodes);
	pack_u32(out, s->ntasks);
	pack_u32(out, s->cpus_per_task);
	pack_u32(out, s->ntasks_per_node);
	pack_u32(out, s->relative);
	pack_u8(out, s->distribution);
	pack_u8(out, s->pack);
	pack_u32(out, s->plane_size);
	pack_str(out, s->nodelist);
	pack_str(out, s->exclude);
	pack_u8(out, s->overcommit);
	pack_u8(out, s->exact);
	pack_u8(out, s->overlap);
	pack_u8(out, s->immediate);
	pack_str(out, s->std_in);
	pack_str(out, s->std_out);
	pack_str(out, s->std_err);
	pack_u8(out, s->open_mode);
	pack_u8(out, s->label);
	pack_u8(out, s->unbuffered);
	pack_u8(out, (uint8_t)s->kill_on_bad_exit);
	pack_u32(out, s->wait);
	pack_u8(out, s->no_kill);
	pack_u8(out, s->disable_status);
	pack_u8(out, (uint8_t)s->verbosity);
	pack_u64(out, (uint64_t)s->time_limit);
	pack_u8(out, s->propagate_umask);
	pack_u32(out, s->umask);
}

static void unpack_geometry(struct stepspec *s, struct unpack *u)
{
	s->min_nodes = unpack_u32(u);
	s->max_nodes = unpack_u32(u);
	s->ntasks = unpack_u32(u);
	s->cpus_per_task = unpack_u32(u);
	s->ntasks_per_node = unpack_u32(u);
	s->relative = unpack_u32(u);
	s->distribution = unpack_u8(u);
	s->pack = unpack_u8(u) != 0;
	s->plane_size = unpack_u32(u);
	s->nodelist = unpack_str(u);
	s->exclude = unpack_str(u);
	s->overcommit = unpack_u8(u) != 0;
	s->exact = unpack_u8(u) != 0;
	s->overlap = unpack_u8(u) != 0;
	s->immediate = unpack_u8(u) != 0;
	if (s->distribution > DIST_ARBITRARY || !s->ntasks || !s->cpus_per_task || !s->min_nodes)
		u->bad = true;
}

static void unpack_behaviour(struct stepspec *s, struct unpack *u)
{
	s->std_in = unpack_str(u);
	s->std_out = unpack_str(u);
	s->std_err = unpack_str(u);
	s->open_mode = unpack_u8(u);
	s->label = unpack_u8(u) != 0;
	s->unbuffered = unpack_u8(u) != 0;
	s->kill_on_bad_exit = (int8_t)unpack_u8(u);
	s->wait = unpack_u32(u);
	s->no_kill = unpack_u8(u) != 0;
	s->disable_status = unpack_u8(u) != 0;
	s->verbosity = (int8_t)unpack_u8(u);
	s->time_limit = (int64_t)unpack_u64(u);
	s->propagate_umask = unpack_u8(u) != 0;
	s->umask = unpack_u32(u);
}

int stepspec_unpack(struct stepspec *s, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);
	cleanup_free char *head = unpack_str(&u);
	const void *env;
	size_t len;

	*s = (struct stepspec){ 0 };
	if (!head || strcmp(head, magic))
		return error_set(err, ERR_PROTOCOL, "step request: not one of slurm-on-ocs");
	if (unpack_u16(&u) != STEPSPEC_VERSION)
		return error_set(err, ERR_PROTOCOL,
				 "step request: srun and shim-launch are of different versions");
	unpack_argv(&u, &s->argv);
	env = unpack_bytes(&u, &len);
	if (!u.bad && env_unpack(&s->env, env, len, NULL) < 0)
		u.bad = true;
	s->cwd = unpack_str(&u);
	s->chdir = unpack_str(&u);
	s->name = unpack_str(&u);
	unpack_geometry(s, &u);
	unpack_behaviour(s, &u);
	if (!s->argv.n || !s->cwd)
		u.bad = true;
	return unpack_done(&u, "step request", err);
}

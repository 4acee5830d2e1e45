/* SPDX-License-Identifier: Apache-2.0 */
#include "ocs/jobspec.h"

#include "common/duration.h"
#include "common/mem.h"
#include "common/pack.h"

#include <string.h>

/* Says what the bytes are before anything is believed of them. */
static const char magic[] = "slurm-on-ocs job";

void jobspec_init(struct jobspec *j)
{
	*j = (struct jobspec){
		.umask = 022,
		.min_nodes = JOBSPEC_UNSET,
		.max_nodes = JOBSPEC_UNSET,
		.ntasks = JOBSPEC_UNSET,
		.ntasks_per_node = JOBSPEC_UNSET,
		.cpus_per_task = JOBSPEC_UNSET,
		.mem_per_node_mib = JOBSPEC_UNSET,
		.mem_per_cpu_mib = JOBSPEC_UNSET,
		.mem_per_gpu_mib = JOBSPEC_UNSET,
		.cpus_per_gpu = JOBSPEC_UNSET,
		.time_limit = DURATION_INFINITE,
	};
}

/* Every string member, so that releasing, packing and unpacking can't disagree. */
#define STRINGS(j)                                                                                           \
	{                                                                                                    \
		&(j)->name, &(j)->partition, &(j)->account, &(j)->qos, &(j)->comment, &(j)->command,         \
			&(j)->submit_dir, &(j)->submit_host, &(j)->submit_addr, &(j)->work_dir,              \
			&(j)->std_in, &(j)->std_out, &(j)->std_err, &(j)->export_env, &(j)->distribution,    \
			&(j)->gpus, &(j)->gpus_per_node, &(j)->gpus_per_task, &(j)->gpu_maps,                \
			&(j)->launch.interface, &(j)->launch.container_runtimes,                             \
			&(j)->launch.accounting_dir, &(j)->launch.cluster_name,                              \
	}

void jobspec_release(struct jobspec *j)
{
	char **strings[] = STRINGS(j);

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(*strings[i]);
	free(j->array_index);
	*j = (struct jobspec){ 0 };
}

static void pack_array(const struct jobspec *j, struct strbuf *out)
{
	pack_u32(out, j->array_count);
	for (uint32_t i = 0; i < j->array_count; i++)
		pack_u32(out, j->array_index[i]);
	pack_u32(out, j->array_step);
}

static void pack_launch(const struct launch_settings *l, struct strbuf *out)
{
	pack_u16(out, l->port_first);
	pack_u16(out, l->port_last);
	pack_u32(out, l->launch_timeout);
	pack_u32(out, l->control_timeout);
	pack_u32(out, l->ping_interval);
	pack_u32(out, l->auth_timeout);
	pack_u32(out, l->race_retry);
	pack_u32(out, l->slot_retry);
	pack_u32(out, l->kill_wait);
	pack_u32(out, l->launch_window);
	pack_u8(out, l->kill_on_bad_exit);
}

void jobspec_pack(const struct jobspec *j, struct strbuf *out)
{
	struct jobspec *unconst = (struct jobspec *)j; /* STRINGS takes addresses; nothing is written */
	char **strings[] = STRINGS(unconst);

	pack_str(out, magic);
	pack_u32(out, JOBSPEC_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		pack_str(out, *strings[i]);
	pack_u8(out, j->open_mode);
	pack_u32(out, j->umask);
	pack_u8(out, j->export_none_env);
	pack_u8(out, j->get_user_env);
	pack_u32(out, j->min_nodes);
	pack_u32(out, j->max_nodes);
	pack_u32(out, j->ntasks);
	pack_u32(out, j->ntasks_per_node);
	pack_u32(out, j->cpus_per_task);
	pack_u32(out, j->slots_per_host);
	pack_u8(out, j->overcommit);
	pack_u8(out, j->exclusive);
	pack_u32(out, j->mem_per_node_mib);
	pack_u32(out, j->mem_per_cpu_mib);
	pack_u32(out, j->mem_per_gpu_mib);
	pack_u32(out, j->cpus_per_gpu);
	pack_u64(out, (uint64_t)j->time_limit);
	pack_u32(out, j->signal_number);
	pack_u32(out, j->signal_before);
	pack_u8(out, j->signal_batch_only);
	pack_array(j, out);
	pack_u8(out, j->requeue);
	pack_u64(out, (uint64_t)j->deadline);
	pack_u64(out, (uint64_t)j->time_min);
	pack_launch(&j->launch, out);
}

/* The count is checked against what is there before anything is allocated. */
static void unpack_array(struct jobspec *j, struct unpack *u)
{
	uint32_t n = unpack_u32(u);

	if (n > u->left / sizeof(uint32_t)) {
		u->bad = true;
		return;
	}
	j->array_index = n ? xreallocarray(NULL, n, sizeof(uint32_t)) : NULL;
	j->array_count = n;
	for (uint32_t i = 0; i < n; i++)
		j->array_index[i] = unpack_u32(u);
	j->array_step = unpack_u32(u);
}

static void unpack_launch(struct launch_settings *l, struct unpack *u)
{
	l->port_first = unpack_u16(u);
	l->port_last = unpack_u16(u);
	l->launch_timeout = unpack_u32(u);
	l->control_timeout = unpack_u32(u);
	l->ping_interval = unpack_u32(u);
	l->auth_timeout = unpack_u32(u);
	l->race_retry = unpack_u32(u);
	l->slot_retry = unpack_u32(u);
	l->kill_wait = unpack_u32(u);
	l->launch_window = unpack_u32(u);
	l->kill_on_bad_exit = unpack_u8(u);
}

static void unpack_numbers(struct jobspec *j, struct unpack *u)
{
	j->open_mode = unpack_u8(u);
	j->umask = unpack_u32(u);
	j->export_none_env = unpack_u8(u);
	j->get_user_env = unpack_u8(u);
	j->min_nodes = unpack_u32(u);
	j->max_nodes = unpack_u32(u);
	j->ntasks = unpack_u32(u);
	j->ntasks_per_node = unpack_u32(u);
	j->cpus_per_task = unpack_u32(u);
	j->slots_per_host = unpack_u32(u);
	j->overcommit = unpack_u8(u);
	j->exclusive = unpack_u8(u);
	j->mem_per_node_mib = unpack_u32(u);
	j->mem_per_cpu_mib = unpack_u32(u);
	j->mem_per_gpu_mib = unpack_u32(u);
	j->cpus_per_gpu = unpack_u32(u);
	j->time_limit = (int64_t)unpack_u64(u);
	j->signal_number = unpack_u32(u);
	j->signal_before = unpack_u32(u);
	j->signal_batch_only = unpack_u8(u);
	unpack_array(j, u);
	j->requeue = unpack_u8(u);
	j->deadline = (int64_t)unpack_u64(u);
	j->time_min = (int64_t)unpack_u64(u);
	unpack_launch(&j->launch, u);
}

static int check_version(struct unpack *u, struct error *err)
{
	cleanup_free char *found = unpack_str(u);
	uint32_t version = unpack_u32(u);

	if (!found || strcmp(found, magic))
		return error_set(err, ERR_PROTOCOL, "job file: malformed");
	if (version != JOBSPEC_VERSION)
		return error_set(err, ERR_PROTOCOL, "job file: version %u, this program reads version %d",
				 version, JOBSPEC_VERSION);
	return 0;
}

int jobspec_unpack(struct jobspec *j, const void *data, size_t n, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, n);
	char **strings[] = STRINGS(j);

	*j = (struct jobspec){ 0 };
	if (check_version(&u, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		*strings[i] = unpack_str(&u);
	unpack_numbers(j, &u);
	if (unpack_done(&u, "job file", err) < 0) {
		jobspec_release(j);
		return -1;
	}
	return 0;
}

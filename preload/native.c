/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a native launcher (mpirun in a plain Grid Engine job): programs that ask for Slurm's rank
 * variables get them. The starter set SLURM_ON_OCS_NATIVE=1 and what the job knows; a rank's number is born
 * later, here.
 *
 * It happens once for a rank: SOO_NATIVE_RANK remembers it, so that a variable that someone removes in the
 * rank stays removed in its children. SLURM_NODEID isn't touched: neither Open MPI nor Hydra tells the node's
 * number (OMPI_COMM_WORLD_NODE_RANK is the rank *on* the node), and the starter has set it on each host.
 */
#include <unistd.h>

#include "preload/preload.h"
#include "preload/text.h"

#define MAX_ENV 4096 /* pointers; a larger environment is left alone */
#define MAX_DIGITS 9

struct launcher {
	char rank[24], local_rank[32], size[24]; /* "": it has none */
};

static const struct launcher launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE" },
	{ "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE" }, /* Hydra: MPICH, Intel MPI */
	{ "PMIX_RANK", "", "" },                       /* prun; Open MPI 5 has its own beside it */
};

enum { PROCID, LOCALID, NTASKS, MARK, LINES };

static const char names[LINES][20] = { "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SOO_NATIVE_RANK" };

/* "NAME=value"; environ points here, so it must outlive everything and be writable. */
static char lines[LINES][64] IN_DATA;
static char *extended[MAX_ENV] IN_DATA;

static bool is_number(const char *s)
{
	size_t n = 0;
	while (s && s[n] >= '0' && s[n] <= '9')
		n++;
	return n > 0 && n <= MAX_DIGITS && !s[n];
}

static void put(size_t line, const char *name, const char *value)
{
	size_t used = 0, size = sizeof lines[line];

	text_append(lines[line], size, &used, name, text_len(name));
	text_append(lines[line], size, &used, "=", 1);
	text_append(lines[line], size, &used, value, text_len(value));
}

/* The mark is rank, local rank and size, so that the ranks of a launcher inside a rank are filled too. */
static bool read_rank(void)
{
	const struct launcher *launcher = NULL;
	const char *values[MARK] = { NULL };
	char mark[MARK * (MAX_DIGITS + 1) + 1] = "";
	size_t used = 0;

	for (size_t i = 0; !launcher && i < sizeof launchers / sizeof launchers[0]; i++)
		if (is_number(preload_env(environ, launchers[i].rank)))
			launcher = &launchers[i];
	if (!launcher)
		return false;
	values[PROCID] = preload_env(environ, launcher->rank);
	values[LOCALID] = *launcher->local_rank ? preload_env(environ, launcher->local_rank) : NULL;
	values[NTASKS] = *launcher->size ? preload_env(environ, launcher->size) : NULL;
	for (size_t i = 0; i < MARK; i++) {
		if (is_number(values[i])) {
			put(i, names[i], values[i]);
			text_append(mark, sizeof mark, &used, values[i], text_len(values[i]));
		}
		text_append(mark, sizeof mark, &used, ".", 1);
	}
	put(MARK, names[MARK], mark);
	const char *old = preload_env(environ, names[MARK]);
	return !(old && text_equal(old, mark));
}

static char **find(const char *name)
{
	for (char **entry = environ; *entry; entry++) {
		const char *rest = text_after(*entry, name);
		if (rest && *rest == '=')
			return entry;
	}
	return NULL;
}

void native_fill(void)
{
	const char *native = preload_env(environ, "SLURM_ON_OCS_NATIVE");
	size_t count = 0, missing = 0;

	if (!native || !text_equal(native, "1") || !read_rank())
		return;
	while (environ[count])
		count++;
	if (count + LINES >= MAX_ENV)
		return;
	for (size_t i = 0; i < LINES; i++) {
		char **entry = find(names[i]);
		if (!*lines[i])
			continue;
		if (entry)
			*entry = lines[i]; /* in place: main()'s envp sees it under every C library */
		else
			extended[count + missing++] = lines[i];
	}
	if (!missing)
		return;
	for (size_t i = 0; i < count; i++)
		extended[i] = environ[i];
	environ = extended;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any text: what parses must come back the same from its bracket form, sorted or not. */
#include "common/hostlist.h"
#include "common/mem.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names of ever larger lists are only slow. */
#define NAMES_MAX 5000

static void must(int what)
{
	if (!what)
		abort();
}

/*
 * Has no bracket form that comes back: an unclosed bracket is part of the name, and a number of more digits than 64 bits
 * hold is read as the largest, as in Slurm.
 */
static int is_one_way(const char *name)
{
	size_t digits = 0;

	for (const char *p = name; *p; p++) {
		digits = *p >= '0' && *p <= '9' ? digits + 1 : 0;
		if (digits > 19)
			return 1;
	}
	return strpbrk(name, "[]") != NULL;
}

static void round_trip(const struct hostlist *hl)
{
	cleanup_free char *text = hostlist_ranged(hl);
	cleanup_hostlist struct hostlist back = HOSTLIST_INIT;

	for (size_t i = 0; i < hl->names.n; i++)
		if (is_one_way(hl->names.v[i]))
			return;
	must(hostlist_parse(&back, text, NULL) == 0 && back.names.n == hl->names.n);
	for (size_t i = 0; i < hl->names.n; i++)
		must(!strcmp(back.names.v[i], hl->names.v[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xstrndup((const char *)data, size);
	cleanup_hostlist struct hostlist hl = HOSTLIST_INIT;
	struct error err = ERROR_INIT;
	size_t n;

	if (size > 4096)
		return 0;
	if (hostlist_parse(&hl, text, &err) < 0) {
		must(err.code == ERR_USAGE);
		return 0;
	}
	n = hl.names.n;
	if (n > NAMES_MAX)
		return 0;
	round_trip(&hl);
	hostlist_sort(&hl);
	must(hl.names.n == n);
	round_trip(&hl);
	if (n)
		must(hostlist_find(&hl, hl.names.v[n - 1]) >= 0);
	return 0;
}

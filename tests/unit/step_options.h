/* SPDX-License-Identifier: Apache-2.0 */
/* The srun options of recorded steps, for tests of layout and environment. */
#ifndef SOC_TESTS_STEP_OPTIONS_H
#define SOC_TESTS_STEP_OPTIONS_H

#include "common/mem.h"
#include "launcher/layout.h"

#include <string.h>

static void set_distribution(struct layout_request *r, const char *v)
{
	if (!strncmp(v, "block", 5))
		r->distribution = DIST_BLOCK;
	else if (!strncmp(v, "cyclic", 6))
		r->distribution = DIST_CYCLIC;
	else if (!strncmp(v, "plane=", 6))
		r->distribution = DIST_PLANE;
	else if (!strncmp(v, "arbitrary", 9))
		r->distribution = DIST_ARBITRARY;
	if (!strncmp(v, "plane=", 6))
		r->plane_size = (uint32_t)strtoul(v + 6, NULL, 10);
	r->pack = (strstr(v, "pack") && !strstr(v, "nopack"));
}

static void set_nodes(struct layout_request *r, const char *v)
{
	char *end;

	r->min_nodes = r->max_nodes = (uint32_t)strtoul(v, &end, 10);
	if (*end == '-')
		r->max_nodes = (uint32_t)strtoul(end + 1, NULL, 10);
}

/* The few options of the recorded steps; what is none of ours (-k, -s) changes nothing. */
static void one_option(struct layout_request *r, char letter, const char *v)
{
	switch (letter) {
	case 'n':
		r->ntasks = (uint32_t)strtoul(v, NULL, 10);
		break;
	case 'N':
		set_nodes(r, v);
		break;
	case 'c':
		r->cpus_per_task = (uint32_t)strtoul(v, NULL, 10);
		r->exact = true;
		break;
	case 'r':
		r->relative = (uint32_t)strtoul(v, NULL, 10);
		break;
	case 'm':
		set_distribution(r, v);
		break;
	case 'w':
		replace_str(&r->nodelist, v);
		break;
	case 'x':
		replace_str(&r->exclude, v);
		break;
	case 'O':
		r->overcommit = true;
		break;
	}
}

static inline void parse_options(struct layout_request *r, const char *text, bool of_job)
{
	cleanup_free char *copy = xstrdup(text);
	char *save = NULL;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		if (!strncmp(w, "--ntasks-per-node=", 18))
			r->ntasks_per_node = (uint32_t)strtoul(w + 18, NULL, 10);
		else if (!strcmp(w, "--exact"))
			r->exact = true;
		else if (!strncmp(w, "--", 2))
			continue;
		else if (strchr("nNcrmwx", w[1]) && !(of_job && strchr("nNcwx", w[1])))
			one_option(r, w[1], w[2] ? w + 2 : strtok_r(NULL, " ", &save));
		else if (w[1] == 'O')
			one_option(r, 'O', "");
	}
}

#endif

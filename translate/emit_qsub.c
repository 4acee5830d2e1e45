/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/emit_qsub.h"

#include "common/duration.h"
#include "common/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#define CONTEXT_VERSION 1
#define NAME_MAX_ENGINE 200 /* bytes; names are for people, and long ones fill the engine's tables */
#define PRIORITY_LOWEST 1023

char *emit_job_name(const char *name)
{
	struct strbuf out = STRBUF_INIT;

	if (!*name || isdigit((unsigned char)*name) || *name == '-')
		strbuf_addch(&out, 'J');
	for (; *name && out.len < NAME_MAX_ENGINE; name++)
		strbuf_addch(&out, isalnum((unsigned char)*name) || strchr("._+-=", *name) ? *name : '_');
	return strbuf_steal(&out);
}

int64_t emit_h_rt(int64_t time_limit, uint32_t kill_wait)
{
	const int64_t margin = 30; /* s: the supervisor's own time to write the record and to exit */

	if (time_limit == DURATION_INFINITE || time_limit > INT32_MAX)
		return 0;
	return time_limit + (kill_wait + margin + 59) / 60 * 60;
}

static void add_pe(const struct qsub_input *in, struct argvec *argv)
{
	const struct geometry *g = in->geometry;

	if (!in->pe)
		return;
	argvec_pushl(argv, "-pe", in->pe, NULL);
	if (g->min_slots == g->max_slots) {
		argvec_pushf(argv, "%" PRIu64, g->min_slots);
	} else if (in->par || g->per_host == 1) {
		argvec_pushf(argv, "%" PRIu64 "-%" PRIu64, g->min_slots, g->max_slots);
	} else {
		/* A list, most hosts first: engines without -par have no steps in ranges. */
		struct strbuf list = STRBUF_INIT;

		for (uint64_t n = g->max_slots; n >= g->min_slots; n -= g->per_host)
			strbuf_addf(&list, "%s%" PRIu64, list.len ? "," : "", n);
		argvec_push_take(argv, strbuf_steal(&list));
	}
	if (in->par)
		argvec_pushl(argv, "-par", in->par, NULL);
}

static void add_resources(const struct qsub_input *in, struct argvec *argv)
{
	cleanup_strbuf struct strbuf words = STRBUF_INIT;

	for (size_t i = 0; in->resources && i < in->resources->n; i++)
		strbuf_addf(&words, "%s%s", words.len ? "," : "", in->resources->v[i]);
	if (in->hosts)
		strbuf_addf(&words, "%sh=%s", words.len ? "," : "", in->hosts);
	if (words.len)
		argvec_pushl(argv, "-l", words.buf, NULL);
	if (!in->master)
		return;
	argvec_push(argv, "-masterq");
	argvec_pushf(argv, "*@%s", in->master);
}

static void add_array(const struct array_request *a, struct argvec *argv)
{
	if (!a->count)
		return;
	argvec_push(argv, "-t");
	argvec_pushf(argv, "1-%u", a->count);
	if (a->limit) {
		argvec_push(argv, "-tc");
		argvec_pushf(argv, "%u", a->limit);
	}
}

/* The client reads local time. */
static void add_begin(int64_t when, struct argvec *argv)
{
	time_t t = (time_t)when;
	char text[32];
	struct tm tm;

	if (when && localtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y%m%d%H%M.%S", &tm))
		argvec_pushl(argv, "-a", text, NULL);
}

/* b, e and a: at its start, its end, and when the engine aborts or reschedules it. */
static void add_mail(const struct request *r, struct argvec *argv)
{
	char letters[4] = "";
	size_t n = 0;

	if (r->mail & MAIL_BEGIN)
		letters[n++] = 'b';
	if (r->mail & MAIL_END)
		letters[n++] = 'e';
	if (r->mail & (MAIL_FAIL | MAIL_REQUEUE))
		letters[n++] = 'a';
	if (!n)
		return;
	argvec_pushl(argv, "-m", letters, NULL);
	if (r->mail_user && *r->mail_user)
		argvec_pushl(argv, "-M", r->mail_user, NULL);
}

static void add_options(const struct qsub_input *in, struct argvec *argv)
{
	const struct request *r = in->request;

	if (in->queue)
		argvec_pushl(argv, "-q", in->queue, NULL);
	if (r->hold || in->hold_user)
		argvec_push(argv, "-h");
	if (in->hold)
		argvec_pushl(argv, "-hold_jid", in->hold, NULL);
	if (in->hold_arrays)
		argvec_pushl(argv, "-hold_jid_ad", in->hold_arrays, NULL);
	add_begin(in->not_before, argv);
	if (in->h_rt) {
		argvec_push(argv, "-l");
		argvec_pushf(argv, "h_rt=%" PRId64, in->h_rt);
	}
	add_resources(in, argv);
	/* The default is Slurm's (JobRequeue=1): when its host dies, a job may start again. */
	argvec_pushl(argv, "-r", r->requeue ? "y" : "n", NULL);
	if (in->reservation)
		argvec_pushl(argv, "-ar", in->reservation, NULL);
	add_mail(r, argv);
	if (r->account && *r->account)
		argvec_pushl(argv, "-A", r->account, NULL);
	if (r->nice > 0) {
		argvec_push(argv, "-p");
		argvec_pushf(argv, "-%d", r->nice < PRIORITY_LOWEST ? r->nice : PRIORITY_LOWEST);
	}
	add_array(&r->array, argv);
	add_pe(in, argv);
}

void emit_qsub(const struct qsub_input *in, struct argvec *argv)
{
	cleanup_free char *name = emit_job_name(in->name);

	/*
	 * A site's or user's defaults file comes first for the engine; what of it would change the stub is set here.
	 * -C '': no "#$" lines are looked for. -wd /: a folder that exists everywhere; the supervisor goes to the
	 * job's own. -w e: what no host could ever run is refused now.
	 */
	argvec_pushl(argv, "qsub", "-terse", NULL);
	if (in->options)
		argvec_pushl(argv, "-@", in->options, NULL);
	argvec_pushl(argv, "-S", "/bin/sh", "-C", "", "-b", in->script ? "n" : "y", "-o", "/dev/null", "-j",
		     "y", "-wd", "/", "-w",
		     !in->script      ? "v"
		     : in->unverified ? "n"
				      : "e",
		     "-N", name, NULL);
	add_options(in, argv);
	argvec_push(argv, in->script ? in->script : "/bin/true");
}

/* --- context --- */

void emit_base64url(struct strbuf *out, const void *data, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const unsigned char *p = data;

	while (n) {
		size_t take = n < 3 ? n : 3;
		uint32_t v =
			(uint32_t)p[0] << 16 | (take > 1 ? (uint32_t)p[1] << 8 : 0) | (take > 2 ? p[2] : 0);

		for (size_t i = 0; i <= take; i++)
			strbuf_addch(out, digits[v >> (18 - 6 * i) & 63]);
		p += take;
		n -= take;
	}
}

/* JSON strings are UTF-8; what isn't becomes '?'. */
static void set_string(json_t *o, const char *key, const char *value)
{
	json_t *s;

	if (!value)
		return;
	s = json_string(value);
	if (!s) {
		cleanup_free char *copy = xstrdup(value);

		for (char *p = copy; *p; p++)
			if ((unsigned char)*p >= 0x80)
				*p = '?';
		s = json_string(copy);
	}
	json_object_set_new(o, key, s);
}

static void set_count(json_t *o, const char *key, uint32_t n)
{
	if (n != REQUEST_UNSET)
		json_object_set_new(o, key, json_integer(n));
}

char *emit_context(const struct request *r, const char *name, const char *spool)
{
	struct strbuf out = STRBUF_INIT;
	json_t *o = json_object();
	char nodes[32];
	char *json;

	json_object_set_new(o, "v", json_integer(CONTEXT_VERSION));
	set_string(o, "name", name);
	set_string(o, "partition", r->partition);
	set_string(o, "account", r->account);
	set_string(o, "comment", r->comment);
	if (r->nodes.min != REQUEST_UNSET) {
		snprintf(nodes, sizeof(nodes), r->nodes.min == r->nodes.max ? "%u" : "%u-%u", r->nodes.min,
			 r->nodes.max);
		set_string(o, "nodes", nodes);
	}
	set_count(o, "ntasks", r->ntasks == REQUEST_UNSET ? r->tasks : r->ntasks);
	set_count(o, "cpus_per_task", r->cpus_per_task);
	if (r->time_limit != DURATION_INFINITE)
		json_object_set_new(o, "time_limit", json_integer(r->time_limit));
	if (r->array.count) {
		cleanup_free char *array = array_format(&r->array);

		set_string(o, "array", array);
	}
	set_string(o, "spool", spool);
	json = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	emit_base64url(&out, json, strlen(json));
	free(json);
	return strbuf_steal(&out);
}

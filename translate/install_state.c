/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/install_state.h"

#include "common/fd.h"
#include "common/mem.h"
#include "common/path.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>

enum { STATE_VERSION = 1, MAX_STATE = 16 << 20 };

static const char *const ends[2] = { "before", "after" };

void install_state_release(struct install_state *s)
{
	argvec_release(&s->pes);
	argvec_release(&s->family);
	argvec_release(&s->files);
	for (size_t i = 0; i < s->nqueues; i++) {
		struct state_queue *q = &s->queues[i];

		free(q->name);
		for (int k = 0; k < 2; k++) {
			free(q->pe_list[k]);
			free(q->starter[k]);
		}
	}
	free(s->queues);
	free(s->made_dir);
	memset(s, 0, sizeof(*s));
}

static struct state_queue *add_queue(struct install_state *s, const char *name)
{
	s->queues = xreallocarray(s->queues, s->nqueues + 1, sizeof(*s->queues));
	s->queues[s->nqueues] = (struct state_queue){ .name = xstrdup(name) };
	return &s->queues[s->nqueues++];
}

/* --- reading --- */

static void get_words(json_t *o, const char *key, struct argvec *out)
{
	json_t *list = json_object_get(o, key), *word;
	size_t i;

	json_array_foreach(list, i, word) if (json_is_string(word)) argvec_push(out, json_string_value(word));
}

static bool get_pair(json_t *queue, const char *key, char *pair[2])
{
	json_t *o = json_object_get(queue, key);

	for (int i = 0; i < 2; i++) {
		const char *value = json_string_value(json_object_get(o, ends[i]));

		if (!value)
			return false;
		pair[i] = xstrdup(value);
	}
	return true;
}

static int get_state(struct install_state *s, json_t *o)
{
	json_t *queues = json_object_get(o, "queues"), *queue;
	const char *name;

	if (json_integer_value(json_object_get(o, "v")) != STATE_VERSION || !json_is_object(queues))
		return -1;
	get_words(o, "pes", &s->pes);
	get_words(o, "family", &s->family);
	get_words(o, "files", &s->files);
	replace_str(&s->made_dir, json_string_value(json_object_get(o, "made_dir")));
	json_object_foreach(queues, name, queue)
	{
		struct state_queue *q = add_queue(s, name);

		if (!get_pair(queue, "pe_list", q->pe_list) || !get_pair(queue, "starter_method", q->starter))
			return -1;
	}
	return 0;
}

int install_state_read(struct install_state *s, const char *file, bool *found, struct error *err)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	json_error_t why;
	json_t *o;
	int rc;

	*found = access(file, F_OK) == 0;
	if (!*found)
		return 0;
	if (fd_read_file(AT_FDCWD, file, MAX_STATE, &text, err) < 0)
		return -1;
	o = json_loadb(text.buf, text.len, 0, &why);
	if (!o)
		return error_set(err, ERR_PROTOCOL, "%s:%d: %s", file, why.line, why.text);
	rc = get_state(s, o);
	json_decref(o);
	return rc < 0 ? error_set(err, ERR_PROTOCOL, "%s: not what install writes", file) : 0;
}

/* --- writing --- */

static json_t *words(const struct argvec *av)
{
	json_t *list = json_array();

	for (size_t i = 0; i < av->n; i++)
		json_array_append_new(list, json_string(av->v[i]));
	return list;
}

static json_t *pair_of(char *const pair[2])
{
	return json_pack("{s:s, s:s}", ends[0], pair[0], ends[1], pair[1]);
}

static json_t *state_json(const struct install_state *s)
{
	json_t *queues = json_object();

	for (size_t i = 0; i < s->nqueues; i++) {
		const struct state_queue *q = &s->queues[i];

		json_object_set_new(queues, q->name,
				    json_pack("{s:o, s:o}", "pe_list", pair_of(q->pe_list), "starter_method",
					      pair_of(q->starter)));
	}
	return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:s?}", "v", STATE_VERSION, "version", VERSION,
			 "pes", words(&s->pes), "family", words(&s->family), "files", words(&s->files),
			 "queues", queues, "made_dir", s->made_dir);
}

int install_state_write(const struct install_state *s, const char *file, struct error *err)
{
	cleanup_free char *temp = xasprintf("%s.%ld", file, (long)getpid());
	json_t *o = state_json(s);
	char *text = json_dumps(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	int rc;

	json_decref(o);
	rc = path_write_newat(AT_FDCWD, temp, 0644, text, strlen(text), true, err);
	free(text);
	if (rc == 0 && rename(temp, file) < 0) {
		rc = error_errno(err, "%s", file);
		unlink(temp);
	}
	return rc;
}

/* --- joining --- */

static void add_new(struct argvec *all, const char *word)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->v[i], word))
			return;
	argvec_push(all, word);
}

static struct state_queue *find_queue(struct install_state *s, const char *name)
{
	for (size_t i = 0; i < s->nqueues; i++)
		if (!strcmp(s->queues[i].name, name))
			return &s->queues[i];
	return NULL;
}

/*
 * The site may have changed the value after the last install: then what was before the first one is no longer what
 * it wants back, but its own new value is.
 */
static bool is_new_before(char *const state[2], char *const plan[2])
{
	return !state[0] || (strcmp(plan[0], plan[1]) && strcmp(plan[0], state[1]));
}

static void add_queue_plan(struct install_state *s, struct state_queue *q, const struct plan_queue *from)
{
	if (is_new_before(q->pe_list, from->pe_list)) {
		free(q->pe_list[0]);
		q->pe_list[0] = plan_without_family(from->pe_list[0], &s->family, NULL);
		if (!q->pe_list[0])
			q->pe_list[0] = xstrdup(from->pe_list[0]);
	}
	if (is_new_before(q->starter, from->starter))
		replace_str(&q->starter[0], from->starter[0]);
	replace_str(&q->pe_list[1], from->pe_list[1]);
	replace_str(&q->starter[1], from->starter[1]);
	for (size_t k = 0; k < from->nchains; k++)
		add_new(&s->files, from->chains[k].path);
}

void install_state_add(struct install_state *s, const struct plan *p)
{
	for (size_t i = 0; i < p->npes; i++)
		add_new(&s->pes, p->pes[i].name);
	for (size_t i = 0; i < p->family.n; i++)
		add_new(&s->family, p->family.v[i]);
	for (size_t i = 0; i < p->nqueues; i++) {
		const struct plan_queue *from = &p->queues[i];
		struct state_queue *q = find_queue(s, from->name);

		if (!q)
			q = add_queue(s, from->name);
		add_queue_plan(s, q, from);
	}
}

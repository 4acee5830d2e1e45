/* SPDX-License-Identifier: Apache-2.0 */
#include "translate/reservation.h"

#include "common/mem.h"
#include "ocs/engine.h"

#include <stdbool.h>
#include <string.h>

#define NAME_SHOWN 10 /* characters of a name that qrstat's list shows */

char *reservation_parse(const char **text, const char *name)
{
	size_t n = strlen(name) < NAME_SHOWN ? strlen(name) : NAME_SHOWN;

	while (**text) {
		const char *id = *text + strspn(*text, " ");
		size_t digits = strspn(id, "0123456789");
		const char *shown = id + digits + strspn(id + digits, " ");

		*text += strcspn(*text, "\n");
		*text += **text == '\n';
		if (digits && strcspn(shown, " \n") == n && !strncmp(shown, name, n))
			return xstrndup(id, digits);
	}
	return NULL;
}

/* Is that its whole name? "name                           maintenance" */
static bool has_name(const char *id, const char *name, int timeout)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	const char *line;

	if (strlen(name) < NAME_SHOWN)
		return true;
	argvec_pushl(&argv, "qrstat", "-ar", id, NULL);
	if (engine_ask(&argv, timeout, &answer, NULL) < 0)
		return false;
	line = strstr(answer.out.buf, "\nname ");
	if (!line)
		return false;
	line += strlen("\nname ");
	line += strspn(line, " ");
	return strcspn(line, "\n") == strlen(name) && !strncmp(line, name, strlen(name));
}

char *reservation_find(const char *name, int timeout, struct error *err)
{
	cleanup_engine_answer struct engine_answer answer = ENGINE_ANSWER_INIT;
	cleanup_argvec struct argvec argv = ARGVEC_INIT;
	const char *text = "";
	char *id;

	if (*name && strspn(name, "0123456789") == strlen(name))
		return xstrdup(name);
	argvec_pushl(&argv, "qrstat", "-u", "*", NULL);
	if (*name && engine_ask(&argv, timeout, &answer, NULL) == 0)
		text = answer.out.buf;
	while ((id = reservation_parse(&text, name))) {
		if (has_name(id, name, timeout))
			return id;
		free(id);
	}
	error_set(err, ERR_VALUE, "Batch job submission failed: Requested reservation is invalid");
	return NULL;
}

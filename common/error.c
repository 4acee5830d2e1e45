/* SPDX-License-Identifier: Apache-2.0 */
#include "common/error.h"

#include <stdarg.h>
#include <string.h>

int error_set(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -1;
}

int error_errno(struct error *err, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	int n;

	if (!err)
		return -1;
	err->code = ERR_SYSTEM;
	va_start(ap, fmt);
	n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - n, ": %s", strerror(saved));
	errno = saved;
	return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	size_t n, room;
	va_list ap;

	if (!err)
		return -1;
	memcpy(text, err->text, sizeof(text));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	n += (size_t)snprintf(err->text + n, sizeof(err->text) - n, ": ");
	if (n >= sizeof(err->text))
		return -1;
	room = sizeof(err->text) - 1 - n;
	memcpy(err->text + n, text, strnlen(text, room));
	err->text[n + strnlen(text, room)] = '\0';
	return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any script: it is one or not, and its words hold no NUL; nothing outside the text is read. */
#include "common/mem.h"
#include "translate/directive.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xmemdup(data, size ? size : 1); /* just as long as it is */
	cleanup_directives struct directives d = DIRECTIVES_INIT;
	struct error err = ERROR_INIT;

	if (directive_check_script(text, size, &err) < 0 && !*err.text)
		abort();
	err = (struct error)ERROR_INIT;
	if (directives_read(&d, "s", text, size, &err) < 0) {
		if (!*err.text)
			abort();
		return 0;
	}
	for (size_t i = 0; i < d.words.n; i++)
		if (!*d.words.v[i])
			abort(); /* an empty word ends its line */
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as configuration: values within their limits, or an error that says where. */
#include "common/mem.h"
#include "conf/conf.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 loses the strings that it was collecting when a syntax error came. */
const char *__lsan_default_suppressions(void)
{
	return "leak:strbuf_append\nleak:libconfig_yylex\nleak:libconfig_yyparse\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xstrndup((const char *)data, size);
	cleanup_conf struct conf c = CONF_INIT;
	struct error err = ERROR_INIT;

	/* an @include would read files, and this is about text */
	if (strstr(text, "@include"))
		return 0;
	if (conf_load_text(&c, "input", text, &err) < 0) {
		if (err.code != ERR_CONF || !strchr(err.text, ':'))
			abort();
		return 0;
	}
	if (c.port_first < 1024 || c.port_last > 65535 || c.port_first > c.port_last || c.launch_timeout < 1)
		abort();
	for (size_t i = 0; i < c.npartitions; i++)
		if (!c.partitions[i].name || !c.partitions[i].queue)
			abort();
	return 0;
}

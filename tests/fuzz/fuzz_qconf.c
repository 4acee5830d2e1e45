/* SPDX-License-Identifier: Apache-2.0 */
/* What qconf printed; an object that was read is printed and read again as the same. */
#include "common/mem.h"
#include "ocs/qconf.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hosts(const char *value)
{
	cleanup_qconf_object struct qconf_object parts = QCONF_OBJECT_INIT;
	cleanup_qconf_object struct qconf_object again = QCONF_OBJECT_INIT;
	cleanup_free char *joined = NULL;
	cleanup_free char *twice = NULL;

	if (qconf_split_hosts(value, &parts, NULL) < 0)
		return;
	joined = qconf_join_hosts(&parts);
	if (qconf_split_hosts(joined, &again, NULL) < 0)
		abort();
	twice = qconf_join_hosts(&again);
	if (strcmp(joined, twice))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = xstrndup((const char *)data, size);
	cleanup_qconf_object struct qconf_object o = QCONF_OBJECT_INIT;
	cleanup_qconf_object struct qconf_object again = QCONF_OBJECT_INIT;
	cleanup_strbuf struct strbuf printed = STRBUF_INIT;

	if (qconf_parse(text, &o, NULL) < 0)
		return 0;
	for (size_t i = 0; i < o.names.n; i++) {
		cleanup_free char *added = qconf_list_add(o.values.v[i], "x.1");

		if (!qconf_list_has(added, "x.1"))
			abort();
		hosts(o.values.v[i]);
	}
	qconf_format(&o, &printed);
	if (qconf_parse(printed.buf, &again, NULL) < 0 || again.names.n != o.names.n)
		abort();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* --dependency and --kill-on-invalid-dep. */
#include "translate/depend.h"
#include "translate/request.h"

#include <strings.h>

/* Which jobs these are is looked up at the submission; the words can be judged here. */
int parse_dependency(const struct opt_context *ctx, struct error *err)
{
	cleanup_depend struct depend list = DEPEND_INIT;

	return depend_parse(&list, ctx->value, err) < 0 ? -1 : opt_parse_string(ctx, err);
}

int parse_yes_no(const struct opt_context *ctx, struct error *err)
{
	bool yes = !strcasecmp(ctx->value, "yes");

	if (!yes && strcasecmp(ctx->value, "no"))
		return error_set(err, ERR_USAGE, "Invalid --%s specification", ctx->row->name);
	*(int *)ctx->field = yes;
	return 0;
}

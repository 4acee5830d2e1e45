/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as frames and as each payload: what is taken packs to the very same bytes again. */
#include "launcher/proto.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TRY(type, release)                                                                                   \
	do {                                                                                                 \
		struct type v_ = { 0 };                                                                      \
		struct strbuf out_ = STRBUF_INIT;                                                            \
                                                                                                             \
		if (type##_unpack(&v_, data, size, NULL) == 0)                                               \
			type##_pack(&v_, &out_);                                                             \
		release(&v_);                                                                                \
		strbuf_release(&out_);                                                                       \
	} while (0)

static void nothing(void *v)
{
	(void)v;
}

static void frames(const uint8_t *data, size_t size)
{
	struct error err = ERROR_INIT;
	struct frame f;
	size_t need;
	long k;

	while ((k = proto_parse(data, size, PROTO_PAYLOAD_MAX, &f, &need, &err)) > 0) {
		struct strbuf again = STRBUF_INIT;

		if ((size_t)k > size || f.length > PROTO_PAYLOAD_MAX)
			abort();
		proto_put(&again, f.type, f.flags, f.rank, f.payload, f.length);
		if (again.len != (size_t)k || memcmp(again.buf, data, again.len) != 0)
			abort();
		strbuf_release(&again);
		data += k;
		size -= (size_t)k;
	}
	if (k < 0 && err.code != ERR_PROTOCOL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	frames(data, size);
	TRY(step_create, step_create_release);
	TRY(step_granted, step_granted_release);
	TRY(step_launch, step_launch_release);
	TRY(step_done, step_done_release);
	TRY(stepper_start, stepper_start_release);
	TRY(hostspec, hostspec_release);
	TRY(rank_exit, nothing);
	return 0;
}

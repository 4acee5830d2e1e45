/* SPDX-License-Identifier: Apache-2.0 */
/* A reader over any bytes, its calls chosen by the first of them; nothing read past the end, nothing left owned. */
#include "common/env.h"
#include "common/pack.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_one(struct unpack *u, uint8_t what)
{
	cleanup_argvec struct argvec av = ARGVEC_INIT;
	cleanup_free char *s = NULL;
	const void *bytes;
	size_t n;

	switch (what % 7) {
	case 0:
		unpack_u8(u);
		break;
	case 1:
		unpack_u16(u);
		break;
	case 2:
		unpack_u32(u);
		break;
	case 3:
		unpack_u64(u);
		break;
	case 4:
		bytes = unpack_bytes(u, &n);
		if (bytes && n && memchr(bytes, 0xa5, n))
			break;
		break;
	case 5:
		s = unpack_str(u);
		break;
	default:
		unpack_argv(u, &av);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t calls = size ? data[0] % 16 : 0;
	struct unpack u;
	cleanup_env struct env e = ENV_INIT;

	if (size < 1 + calls)
		return 0;
	u = (struct unpack)UNPACK_INIT(data + 1 + calls, size - 1 - calls);
	for (size_t i = 0; i < calls; i++)
		read_one(&u, data[1 + i]);
	unpack_done(&u, "input", NULL);
	if (env_unpack(&e, (const char *)data, size, NULL) == 0) {
		cleanup_strbuf struct strbuf back = STRBUF_INIT;

		env_pack(&e, &back);
		if (back.len != size || (size && memcmp(back.buf, data, size)))
			abort();
		env_unset_prefix(&e, "A");
	}
	return 0;
}

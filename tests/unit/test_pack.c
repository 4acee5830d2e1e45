/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pack.h"

#include <criterion/criterion.h>
#include <string.h>

static void fill(struct strbuf *out)
{
	cleanup_argvec struct argvec av = ARGVEC_INIT;

	argvec_pushl(&av, "a", "", "c d", NULL);
	pack_u8(out, 0xfe);
	pack_u16(out, 0x1234);
	pack_u32(out, 0x89abcdef);
	pack_u64(out, UINT64_C(0x0102030405060708));
	pack_bytes(out, "\0x", 2);
	pack_str(out, "hi");
	pack_str(out, NULL);
	pack_str(out, "");
	pack_argv(out, &av);
}

/* The bytes are a format that other versions of us read. */
Test(pack, golden_bytes)
{
	static const char want[] = "\xfe\x12\x34\x89\xab\xcd\xef\1\2\3\4\5\6\7\10"
				   "\0\0\0\2\0x"
				   "\0\0\0\2hi"
				   "\xff\xff\xff\xff"
				   "\0\0\0\0"
				   "\0\0\0\3\0\0\0\1a\0\0\0\0\0\0\0\3c d";
	cleanup_strbuf struct strbuf out = STRBUF_INIT;

	fill(&out);
	cr_assert_eq(out.len, sizeof(want) - 1);
	cr_expect_eq(memcmp(out.buf, want, out.len), 0);
}

static int read_all(const void *data, size_t len, struct error *err)
{
	struct unpack u = UNPACK_INIT(data, len);
	cleanup_argvec struct argvec av = ARGVEC_INIT;
	cleanup_free char *hi = NULL, *null = NULL, *empty = NULL;
	bool right;
	size_t n;
	const void *bytes;

	right = unpack_u8(&u) == 0xfe;
	right = unpack_u16(&u) == 0x1234 && right;
	right = unpack_u32(&u) == 0x89abcdef && right;
	right = unpack_u64(&u) == UINT64_C(0x0102030405060708) && right;
	bytes = unpack_bytes(&u, &n);
	right = bytes && n == 2 && !memcmp(bytes, "\0x", 2) && right;
	hi = unpack_str(&u);
	null = unpack_str(&u);
	empty = unpack_str(&u);
	right = hi && !strcmp(hi, "hi") && !null && empty && !*empty && right;
	unpack_argv(&u, &av);
	right = av.n == 3 && !strcmp(av.v[2], "c d") && right;
	if (unpack_done(&u, "thing", err) < 0)
		return -1;
	cr_expect(right);
	return 0;
}

Test(pack, round_trip_and_every_cut)
{
	cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct error err = ERROR_INIT;

	fill(&out);
	cr_expect_eq(read_all(out.buf, out.len, &err), 0);
	for (size_t n = 0; n < out.len; n++)
		cr_expect_eq(read_all(out.buf, n, &err), -1, "cut at %zu", n);
	cr_expect_str_eq(err.text, "thing: malformed");
	cr_expect_eq(err.code, ERR_PROTOCOL);
	strbuf_addch(&out, 'x');
	cr_expect_eq(read_all(out.buf, out.len, &err), -1, "a byte too many");
}

Test(pack, a_nul_inside_a_string_is_bad)
{
	struct unpack u = UNPACK_INIT("\0\0\0\3a\0b", 7);

	cr_expect_null(unpack_str(&u));
	cr_expect(u.bad);
}

Test(pack, a_huge_count_makes_no_loop)
{
	struct unpack u = UNPACK_INIT("\xff\xff\xff\xff\0\0\0\0", 8);
	cleanup_argvec struct argvec av = ARGVEC_INIT;

	unpack_argv(&u, &av);
	cr_expect(u.bad);
	cr_expect_eq(av.n, 0);
}

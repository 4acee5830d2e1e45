/* SPDX-License-Identifier: Apache-2.0 */
/* Every message byte by byte, as docs/protocol.md draws it, and back; every cut of it refused. */
#include "common/mem.h"
#include "launcher/proto.h"

#include <criterion/criterion.h>
#include <string.h>

static char *hex(const void *data, size_t n)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&out, "%02x", ((const unsigned char *)data)[i]);
	return strbuf_steal(&out);
}

static void expect_bytes(const char *what, const struct strbuf *out, const char *want)
{
	cleanup_free char *got = hex(out->buf, out->len);

	cr_expect_str_eq(got, want, "%s:\n  want %s\n  got  %s", what, want, got);
}

/* --- the header --- */

static const struct header_row {
	uint8_t type, flags;
	uint32_t rank;
	const char *payload, *bytes;
} headers[] = {
	{ FRAME_PING, 0, 0, "", "05000000000000000000" },
	{ FRAME_OUT, FRAME_STDERR | FRAME_EOF, 0x01020304, "hi", "0d0601020304000000026869" },
	{ FRAME_IN, 0, RANK_ALL, "x", "0e00ffffffff0000000178" },
	{ FRAME_READY, 0, 0, "", "0b000000000000000000" },
	{ FRAME_START, 0, 0, "", "0c000000000000000000" },
	{ FRAME_SIG, 0, 0, "\x01",
	  "0f000000000000000001"
	  "01" },
	{ FRAME_RANK_FAIL, 0, 3, "stdout",
	  "11000000000300000006"
	  "7374646f7574" },
	{ FRAME_NOTE, 0, 0, "n", "120000000000000000016e" },
	{ FRAME_HOST_DONE, 0, 0, "", "13000000000000000000" },
	{ FRAME_IN_PAUSE, FRAME_EOF, RANK_ALL, "", "1404ffffffff00000000" },
	{ FRAME_IN_RESUME, 0, RANK_ALL, "", "1500ffffffff00000000" },
	{ FRAME_STEP_WAIT, FRAME_MORE, 0, "busy", "2101000000000000000462757379" },
	{ FRAME_STEP_LOST, 0, 2, "gone", "25000000000200000004676f6e65" },
	{ FRAME_STEP_SIGNAL, 0, 9, "", "26000000000900000000" },
	{ FRAME_STEP_GONE, 0, 0, "", "24000000000000000000" },
	{ FRAME_RELAY_OPEN, 0, 5, "", "2c000000000500000000" },
	{ FRAME_RELAY_CLOSE, 0, 5, "", "2e000000000500000000" },
	{ FRAME_CTL_PING, 0, 0, "", "3e000000000000000000" },
	{ FRAME_CTL_REQUEUE, 0, 0, "", "41000000000000000000" },
};

Test(proto, frames)
{
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		const struct header_row *r = &headers[i];
		struct strbuf out = STRBUF_INIT;
		struct error err = ERROR_INIT;
		struct frame f;
		size_t need;

		proto_put(&out, r->type, r->flags, r->rank, r->payload, strlen(r->payload));
		expect_bytes("frame", &out, r->bytes);
		for (size_t n = 0; n < out.len; n++)
			cr_expect_eq(proto_parse(out.buf, n, PROTO_PAYLOAD_MAX, &f, &need, &err), 0,
				     "row %zu, %zu bytes", i, n);
		cr_expect_eq(proto_parse(out.buf, out.len, PROTO_PAYLOAD_MAX, &f, &need, &err),
			     (long)out.len);
		cr_expect_eq(f.type, r->type);
		cr_expect_eq(f.flags, r->flags);
		cr_expect_eq(f.rank, r->rank);
		cr_expect_eq(f.length, strlen(r->payload));
		cr_expect_arr_eq(f.payload, r->payload, f.length);
		strbuf_release(&out);
	}
}

static const struct bad_row {
	const char *bytes;
	size_t n;
	const char *text;
} bad[] = {
	{ "\0\0\0\0\0\0\0\0\0\0", 10, "unknown message type 0" },
	{ "\xff\0\0\0\0\0\0\0\0\0", 10, "unknown message type 255" },
	{ "\x0d\0\0\0\0\0\0\x10\0\x01", 10, "message type 13 is too long (1048577 bytes)" },
	{ "\x0d\0\0\0\0\0\xff\xff\xff\xff", 10, "message type 13 is too long (4294967295 bytes)" },
};

Test(proto, what_no_frame_begins_with)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = ERROR_INIT;
		struct frame f;
		size_t need;

		cr_expect_eq(proto_parse(bad[i].bytes, bad[i].n, PROTO_PAYLOAD_MAX, &f, &need, &err), -1);
		cr_expect_str_eq(err.text, bad[i].text);
	}
}

/* --- payloads --- */

#define ZERO_TOKEN                                                                                           \
	"00000020"                                                                                           \
	"0000000000000000000000000000000000000000000000000000000000000000"

/* unpack() of every cut fails, and of the whole gives the same bytes again. */
#define CHECK(type, value, want)                                                                             \
	do {                                                                                                 \
		struct strbuf out_ = STRBUF_INIT, again_ = STRBUF_INIT;                                      \
		struct type back_ = { 0 };                                                                   \
		struct error err_ = ERROR_INIT;                                                              \
                                                                                                             \
		type##_pack(&(value), &out_);                                                                \
		expect_bytes(#type, &out_, want);                                                            \
		for (size_t n_ = 0; n_ < out_.len; n_++) {                                                   \
			cr_expect_eq(type##_unpack(&back_, out_.buf, n_, NULL), -1, #type ": %zu bytes",     \
				     n_);                                                                    \
			RELEASE_##type(&back_);                                                              \
		}                                                                                            \
		cr_assert_eq(type##_unpack(&back_, out_.buf, out_.len, &err_), 0, "%s", err_.text);          \
		type##_pack(&back_, &again_);                                                                \
		expect_bytes(#type " again", &again_, want);                                                 \
		RELEASE_##type(&back_);                                                                      \
		strbuf_release(&out_);                                                                       \
		strbuf_release(&again_);                                                                     \
	} while (0)

#define RELEASE_step_create step_create_release
#define RELEASE_step_granted step_granted_release
#define RELEASE_step_launch step_launch_release
#define RELEASE_step_done step_done_release
#define RELEASE_stepper_start stepper_start_release
#define RELEASE_hostspec hostspec_release
#define RELEASE_rank_exit(e) ((void)(e))

Test(proto, step_create)
{
	struct step_create c = { .immediate = true, .name = (char *)"a", .command = (char *)"a b", .pid = 7 };

	layout_request_init(&c.want);
	c.want.ntasks = 4;
	c.want.distribution = DIST_CYCLIC;
	c.want.nodelist = (char *)"n2";
	c.want.exact = true;
	CHECK(step_create, c,
	      "ffffffff"
	      "ffffffff"
	      "00000004"
	      "ffffffff"
	      "ffffffff"
	      "ffffffff"
	      "02"
	      "00"
	      "00000000"
	      "00000002"
	      "6e32"
	      "ffffffff"
	      "00"
	      "01"
	      "00"
	      "01"
	      "00000001"
	      "61"
	      "00000003"
	      "612062"
	      "ffffffff"
	      "00000007");
}

Test(proto, step_granted)
{
	uint32_t node[] = { 0, 2 }, tasks[] = { 2, 1 }, cpus[] = { 4, 4 }, first[] = { 0, 2 },
		 second[] = { 1 };
	uint32_t *ranks[] = { first, second };
	struct step_host hosts[] = { { .name = (char *)"n1", .cpus = 4, .local = true },
				     { .name = (char *)"n3", .job_index = 2, .cpus = 4 } };
	struct step_granted g = {
		.step_id = 5,
		.job_id = 77,
		.job_nodelist = (char *)"n[1-3]",
		.job_cpus_per_node = (char *)"4(x3)",
		.layout = { 2, 3, node, tasks, ranks, cpus, DIST_CYCLIC },
		.hosts = hosts,
		.nhosts = 2,
		.srun_host = (char *)"n1",
		.port_first = 61000,
		.port_last = 61439,
		.launch_timeout = 60,
		.control_timeout = 61,
		.ping_interval = 10,
		.auth_timeout = 11,
		.kill_wait = 30,
		.kill_on_bad_exit = true,
	};

	CHECK(step_granted, g,
	      "00000005"
	      "000000000000004d"
	      "00000006"
	      "6e5b312d335d"
	      "00000005"
	      "3428783329"
	      "00000002"
	      "00000003"
	      "02"
	      "00000000"
	      "00000002"
	      "00000002"
	      "00000001"
	      "00000004"
	      "00000004"
	      "00000000"
	      "00000002"
	      "00000001"
	      "00000002"
	      "6e31"
	      "00000000"
	      "00000004"
	      "01" ZERO_TOKEN "00000002"
	      "6e33"
	      "00000002"
	      "00000004"
	      "00" ZERO_TOKEN "00000002"
	      "6e31"
	      "ee48"
	      "efff"
	      "0000003c"
	      "0000003d"
	      "0000000a"
	      "0000000b"
	      "0000001e"
	      "01"
	      "ffffffff");
}

Test(proto, layouts_that_contradict_themselves)
{
	uint32_t node[] = { 0 }, tasks[] = { 2 }, cpus[] = { 4 }, mine[] = { 0, 9 };
	uint32_t *ranks[] = { mine };
	struct step_host hosts[] = { { .name = (char *)"n1" } };
	struct step_granted g = { .layout = { 1, 2, node, tasks, ranks, cpus, DIST_BLOCK },
				  .hosts = hosts,
				  .nhosts = 1 };
	struct step_granted back;
	struct strbuf out = STRBUF_INIT;

	step_granted_pack(&g, &out);
	cr_expect_eq(step_granted_unpack(&back, out.buf, out.len, NULL), -1,
		     "a rank beyond the step's tasks");
	step_granted_release(&back);
	strbuf_reset(&out);
	mine[1] = 1;
	g.layout.ntasks = 3;
	step_granted_pack(&g, &out);
	cr_expect_eq(step_granted_unpack(&back, out.buf, out.len, NULL), -1, "fewer ranks than tasks");
	step_granted_release(&back);
	strbuf_release(&out);
}

Test(proto, step_launch)
{
	struct step_launch l = { .addresses = (char *)"::1", .port = 61000, .unix_path = (char *)"/s" };

	CHECK(step_launch, l,
	      "00000003"
	      "3a3a31"
	      "ee48"
	      "00000002"
	      "2f73");
}

Test(proto, step_done)
{
	struct step_done d = {
		.state = (char *)"FAILED", .code = 3, .utime_us = 1, .stime_us = 2, .maxrss_kib = 3
	};

	CHECK(step_done, d,
	      "00000006"
	      "4641494c4544"
	      "00000003"
	      "00000000"
	      "0000000000000001"
	      "0000000000000002"
	      "0000000000000003");
}

Test(proto, stepper_start)
{
	struct stepper_start s = { .step_id = 1,
				   .host_index = 2,
				   .addresses = (char *)"::1",
				   .port = 1,
				   .control_timeout = 60,
				   .ping_interval = 10,
				   .auth_timeout = 9 };

	CHECK(stepper_start, s,
	      "00000001"
	      "00000002" ZERO_TOKEN "00000003"
	      "3a3a31"
	      "0001"
	      "ffffffff"
	      "0000003c"
	      "0000000a"
	      "00000009");
}

Test(proto, hostspec)
{
	uint32_t ranks[] = { 1, 3 };
	struct hostspec s = { .step_id = 1,
			      .ntasks = 4,
			      .job_id = 2,
			      .cwd = (char *)"/",
			      .umask = 022,
			      .label = true,
			      .open_mode = 'a',
			      .out = { STREAM_FILE, RANK_ALL, (char *)"f" },
			      .err = { .kind = STREAM_STDOUT, .only = RANK_ALL },
			      .in = { .kind = STREAM_NULL, .only = RANK_ALL },
			      .node = (char *)"n",
			      .node_index = 1,
			      .cpus = 2,
			      .ranks = ranks,
			      .nranks = 2 };

	argvec_push(&s.argv, "a");
	env_set(&s.env, "B", "c");
	CHECK(hostspec, s,
	      "00000001"
	      "00000004"
	      "0000000000000002"
	      "00000001"
	      "00000001"
	      "61"
	      "00000004"
	      "423d6300"
	      "00000001"
	      "2f"
	      "00000012"
	      "01"
	      "00"
	      "61"
	      "01"
	      "ffffffff"
	      "ffffffff"
	      "02"
	      "ffffffff"
	      "00000001"
	      "66"
	      "03"
	      "ffffffff"
	      "ffffffff"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "0000000000000000"
	      "00000001"
	      "6e"
	      "00000001"
	      "00000002"
	      "00000002"
	      "00000001"
	      "00000003");
	argvec_release(&s.argv);
	env_release(&s.env);
}

Test(proto, rank_exit)
{
	struct rank_exit e = { .status = 0x0100, .utime_us = 1, .stime_us = 2, .maxrss_kib = 3 };

	CHECK(rank_exit, e,
	      "00000100"
	      "0000000000000001"
	      "0000000000000002"
	      "0000000000000003");
}

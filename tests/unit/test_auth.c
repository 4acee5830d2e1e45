/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/auth.h"
#include "launcher/proto.h"

#include <criterion/criterion.h>
#include <string.h>

struct pair {
	struct auth listener, dialer;
	unsigned char challenge[AUTH_NONCE], hello[AUTH_HELLO], welcome[AUTH_WELCOME];
};

static void make(struct pair *p, bool sealed)
{
	struct error err = ERROR_INIT;

	memset(p, 0, sizeof(*p));
	cr_assert_eq(auth_init(&err), 0);
	p->listener.sealed = p->dialer.sealed = sealed;
	p->dialer.who = (struct auth_who){ AUTH_STEPPER, 7, 3 };
	memset(p->dialer.key, 0x5a, AUTH_KEY);
	auth_challenge(&p->listener, p->challenge);
	cr_assert_eq(auth_hello(&p->dialer, p->challenge, sizeof(p->challenge), p->hello, &err), 0);
}

static int answer(struct pair *p, const unsigned char *hello, int key_byte)
{
	struct error err = ERROR_INIT;

	if (auth_read_hello(&p->listener, hello, AUTH_HELLO, &err) < 0)
		return -1;
	memset(p->listener.key, key_byte, AUTH_KEY);
	return auth_welcome(&p->listener, hello, AUTH_HELLO, p->welcome, &err);
}

Test(auth, both_ends_agree_and_seal)
{
	static const char text[] = "forty-two bytes of a frame that is sealed";
	unsigned char sealed[sizeof(text) + crypto_secretstream_xchacha20poly1305_ABYTES],
		plain[sizeof(sealed)];
	struct error err = ERROR_INIT;
	struct pair p;
	size_t n;

	make(&p, true);
	cr_assert_eq(answer(&p, p.hello, 0x5a), 0);
	cr_expect_eq(p.listener.who.kind, AUTH_STEPPER);
	cr_expect_eq(p.listener.who.id, 7);
	cr_expect_eq(p.listener.who.host, 3);
	cr_assert_eq(auth_finish(&p.dialer, p.welcome, sizeof(p.welcome), &err), 0, "%s", err.text);
	for (int round = 0; round < 3; round++) {
		auth_seal(&p.dialer, text, sizeof(text), sealed);
		cr_assert_eq(auth_open(&p.listener, sealed, sizeof(sealed), plain, &n, &err), 0);
		cr_expect_eq(n, sizeof(text));
		cr_expect_arr_eq(plain, text, sizeof(text));
		auth_seal(&p.listener, text, sizeof(text), sealed);
		cr_assert_eq(auth_open(&p.dialer, sealed, sizeof(sealed), plain, &n, &err), 0);
	}
}

Test(auth, sealed_frames_cannot_be_changed_repeated_or_left_out)
{
	unsigned char first[5 + 17], second[5 + 17], plain[64];
	struct error err = ERROR_INIT;
	struct pair p;
	size_t n;

	make(&p, true);
	cr_assert_eq(answer(&p, p.hello, 0x5a), 0);
	cr_assert_eq(auth_finish(&p.dialer, p.welcome, sizeof(p.welcome), &err), 0);
	auth_seal(&p.dialer, "hello", 5, first);
	auth_seal(&p.dialer, "again", 5, second);
	cr_expect_eq(auth_open(&p.listener, second, sizeof(second), plain, &n, &err), -1,
		     "a frame was left out");
	cr_expect_eq(auth_open(&p.listener, first, sizeof(first) - 1, plain, &n, &err), -1, "cut");
	first[3] ^= 1;
	cr_expect_eq(auth_open(&p.listener, first, sizeof(first), plain, &n, &err), -1, "changed");
	first[3] ^= 1;
	cr_expect_eq(auth_open(&p.listener, first, sizeof(first), plain, &n, &err), 0);
	cr_expect_eq(auth_open(&p.listener, first, sizeof(first), plain, &n, &err), -1, "repeated");
	cr_expect_eq(auth_open(&p.listener, first, 3, plain, &n, &err), -1, "too short");
}

Test(auth, a_wrong_key_proves_nothing)
{
	struct error err = ERROR_INIT;
	struct pair p;

	make(&p, true);
	cr_expect_eq(answer(&p, p.hello, 0x5b), -1);
	make(&p, true);
	cr_assert_eq(answer(&p, p.hello, 0x5a), 0);
	memset(p.dialer.key, 1, AUTH_KEY);
	cr_expect_eq(auth_finish(&p.dialer, p.welcome, sizeof(p.welcome), &err), -1);
}

Test(auth, every_byte_of_hello_and_welcome_counts)
{
	struct error err = ERROR_INIT;
	struct pair p;

	for (size_t i = 0; i < AUTH_HELLO; i++) {
		make(&p, true);
		p.hello[i] ^= 0x10;
		cr_expect_eq(answer(&p, p.hello, 0x5a), -1, "hello byte %zu", i);
	}
	for (size_t i = 0; i < AUTH_WELCOME; i++) {
		make(&p, true);
		cr_assert_eq(answer(&p, p.hello, 0x5a), 0);
		p.welcome[i] ^= 0x10;
		cr_expect_eq(auth_finish(&p.dialer, p.welcome, sizeof(p.welcome), &err), -1,
			     "welcome byte %zu", i);
	}
}

Test(auth, a_hello_is_good_for_one_challenge)
{
	unsigned char old[AUTH_HELLO];
	struct pair p;

	make(&p, true);
	memcpy(old, p.hello, sizeof(old));
	make(&p, true);
	cr_expect_eq(answer(&p, old, 0x5a), -1);
}

/* A stranger who gives a dialer its own proof back, as hello or as welcome, has proved nothing. */
Test(auth, a_proof_cannot_be_reflected)
{
	unsigned char back[AUTH_WELCOME];
	struct error err = ERROR_INIT;
	struct pair p;

	make(&p, true);
	memcpy(back, p.hello + 12 + AUTH_NONCE, AUTH_STREAM);
	memcpy(back + AUTH_STREAM, p.hello + AUTH_HELLO - AUTH_PROOF, AUTH_PROOF);
	cr_expect_eq(auth_finish(&p.dialer, back, sizeof(back), &err), -1);
}

Test(auth, lengths_version_and_encryption_are_checked)
{
	unsigned char out[AUTH_HELLO];
	struct error err = ERROR_INIT;
	struct pair p;

	make(&p, true);
	cr_expect_eq(auth_hello(&p.dialer, p.challenge, AUTH_NONCE - 1, out, &err), -1);
	cr_expect_eq(auth_read_hello(&p.listener, p.hello, AUTH_HELLO - 1, &err), -1);
	cr_expect_eq(auth_finish(&p.dialer, p.welcome, AUTH_WELCOME - 1, &err), -1);
	p.hello[1] = PROTO_VERSION + 1;
	cr_expect_eq(auth_read_hello(&p.listener, p.hello, AUTH_HELLO, &err), -1);
	cr_expect_str_eq(err.text, "hello: version 2, not 1");
	make(&p, false);
	p.listener.sealed = true;
	cr_expect_eq(auth_read_hello(&p.listener, p.hello, AUTH_HELLO, &err), -1);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/auth.h"

#include "common/log.h"
#include "launcher/proto.h"

#include <endian.h>
#include <string.h>
#include <sys/random.h>

/* Domain separation: one label per use of the key. */
static const char label_dialer[] = "slurm-on-ocs 1 dialer";
static const char label_listener[] = "slurm-on-ocs 1 listener";
static const char label_to_listener[] = "slurm-on-ocs 1 key to listener";
static const char label_to_dialer[] = "slurm-on-ocs 1 key to dialer";

/*
 * Not sodium_init(): it links in 170 KB of implementations, most of them of things that we don't use, to choose among
 * them by CPU. Without it the portable ones are used, and this process has one thread. What else it would do is to see
 * that random bytes can be had. sodium_misuse() stands in the same object of the library: ours comes first.
 */
void sodium_misuse(void)
{
	BUG("libsodium was called with impossible lengths");
}

int auth_init(struct error *err)
{
	unsigned char probe[8];

	if (getrandom(probe, sizeof(probe), 0) != sizeof(probe))
		return error_errno(err, "no source of random bytes");
	return 0;
}

void auth_wipe(struct auth *a)
{
	sodium_memzero(a, sizeof(*a));
}

static void mac(const struct auth *a, const char *label, const void *more, size_t n,
		unsigned char out[AUTH_PROOF])
{
	crypto_auth_hmacsha256_state st;

	crypto_auth_hmacsha256_init(&st, a->key, AUTH_KEY);
	crypto_auth_hmacsha256_update(&st, (const unsigned char *)label, strlen(label) + 1);
	crypto_auth_hmacsha256_update(&st, a->nonce_listener, AUTH_NONCE);
	crypto_auth_hmacsha256_update(&st, a->hello, sizeof(a->hello));
	crypto_auth_hmacsha256_update(&st, more, n);
	crypto_auth_hmacsha256_final(&st, out);
	sodium_memzero(&st, sizeof(st));
}

/* Keys of a direction hang on the key and both nonces alone: the stream header is part of what the proofs cover. */
static void derive(const struct auth *a, const char *label, unsigned char out[AUTH_PROOF])
{
	crypto_auth_hmacsha256_state st;

	crypto_auth_hmacsha256_init(&st, a->key, AUTH_KEY);
	crypto_auth_hmacsha256_update(&st, (const unsigned char *)label, strlen(label) + 1);
	crypto_auth_hmacsha256_update(&st, a->nonce_listener, AUTH_NONCE);
	crypto_auth_hmacsha256_update(&st, a->nonce_dialer, AUTH_NONCE);
	crypto_auth_hmacsha256_final(&st, out);
	sodium_memzero(&st, sizeof(st));
}

static void push_begin(struct auth *a, const char *label, unsigned char header[AUTH_STREAM])
{
	unsigned char k[AUTH_PROOF];

	derive(a, label, k);
	crypto_secretstream_xchacha20poly1305_init_push(&a->push, header, k);
	sodium_memzero(k, sizeof(k));
}

static int pull_begin(struct auth *a, const char *label, const unsigned char *header)
{
	unsigned char k[AUTH_PROOF];
	int rc;

	derive(a, label, k);
	rc = crypto_secretstream_xchacha20poly1305_init_pull(&a->pull, header, k);
	sodium_memzero(k, sizeof(k));
	return rc;
}

void auth_challenge(struct auth *a, unsigned char out[AUTH_NONCE])
{
	randombytes_buf(a->nonce_listener, AUTH_NONCE);
	memcpy(out, a->nonce_listener, AUTH_NONCE);
}

static void put_who(struct auth *a, unsigned char *p)
{
	uint16_t version = htobe16(PROTO_VERSION);
	uint32_t id = htobe32(a->who.id);
	uint32_t host = htobe32(a->who.host);

	memcpy(p, &version, 2);
	p[2] = a->who.kind;
	p[3] = a->sealed;
	memcpy(p + 4, &id, 4);
	memcpy(p + 8, &host, 4);
}

int auth_hello(struct auth *a, const void *challenge, size_t n, unsigned char out[AUTH_HELLO],
	       struct error *err)
{
	if (n != AUTH_NONCE)
		return error_set(err, ERR_PROTOCOL, "challenge: malformed");
	a->dialer = true;
	memcpy(a->nonce_listener, challenge, AUTH_NONCE);
	randombytes_buf(a->nonce_dialer, AUTH_NONCE);
	put_who(a, a->hello);
	memcpy(a->hello + 12, a->nonce_dialer, AUTH_NONCE);
	push_begin(a, label_to_listener, a->hello + 12 + AUTH_NONCE);
	memcpy(out, a->hello, sizeof(a->hello));
	mac(a, label_dialer, "", 0, out + sizeof(a->hello));
	return 0;
}

int auth_read_hello(struct auth *a, const void *hello, size_t n, struct error *err)
{
	const unsigned char *p = hello;
	uint16_t version;
	uint32_t word;

	if (n != AUTH_HELLO)
		return error_set(err, ERR_PROTOCOL, "hello: malformed");
	memcpy(&version, p, 2);
	if (be16toh(version) != PROTO_VERSION)
		return error_set(err, ERR_PROTOCOL, "hello: version %u, not %d", be16toh(version),
				 PROTO_VERSION);
	if (p[3] != a->sealed)
		return error_set(err, ERR_PROTOCOL, "hello: encryption must be %s", a->sealed ? "on" : "off");
	a->who.kind = p[2];
	memcpy(&word, p + 4, 4);
	a->who.id = be32toh(word);
	memcpy(&word, p + 8, 4);
	a->who.host = be32toh(word);
	return 0;
}

int auth_welcome(struct auth *a, const void *hello, size_t n, unsigned char out[AUTH_WELCOME],
		 struct error *err)
{
	unsigned char want[AUTH_PROOF];
	const unsigned char *p = hello;

	if (n != AUTH_HELLO)
		return error_set(err, ERR_PROTOCOL, "hello: malformed");
	memcpy(a->hello, p, sizeof(a->hello));
	memcpy(a->nonce_dialer, p + 12, AUTH_NONCE);
	mac(a, label_dialer, "", 0, want);
	if (sodium_memcmp(want, p + sizeof(a->hello), AUTH_PROOF) != 0)
		return error_set(err, ERR_PROTOCOL, "hello: wrong proof");
	if (pull_begin(a, label_to_listener, a->hello + 12 + AUTH_NONCE) < 0)
		return error_set(err, ERR_PROTOCOL, "hello: malformed");
	push_begin(a, label_to_dialer, out);
	mac(a, label_listener, out, AUTH_STREAM, out + AUTH_STREAM);
	return 0;
}

int auth_finish(struct auth *a, const void *welcome, size_t n, struct error *err)
{
	unsigned char want[AUTH_PROOF];
	const unsigned char *p = welcome;

	if (n != AUTH_WELCOME)
		return error_set(err, ERR_PROTOCOL, "welcome: malformed");
	mac(a, label_listener, p, AUTH_STREAM, want);
	if (sodium_memcmp(want, p + AUTH_STREAM, AUTH_PROOF) != 0)
		return error_set(err, ERR_PROTOCOL, "welcome: wrong proof");
	if (pull_begin(a, label_to_dialer, p) < 0)
		return error_set(err, ERR_PROTOCOL, "welcome: malformed");
	return 0;
}

int auth_seal(struct auth *a, const void *frame, size_t n, unsigned char *out)
{
	return crypto_secretstream_xchacha20poly1305_push(&a->push, out, NULL, frame, n, NULL, 0, 0);
}

int auth_open(struct auth *a, const void *data, size_t n, unsigned char *out, size_t *out_n,
	      struct error *err)
{
	unsigned long long got;
	unsigned char tag;

	if (n < crypto_secretstream_xchacha20poly1305_ABYTES ||
	    crypto_secretstream_xchacha20poly1305_pull(&a->pull, out, &got, &tag, data, n, NULL, 0) < 0)
		return error_set(err, ERR_PROTOCOL, "a message was forged or damaged on its way");
	*out_n = (size_t)got;
	return 0;
}

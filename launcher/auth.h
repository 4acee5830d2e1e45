/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutual proof on a connection between hosts, and the encryption behind it (docs/protocol.md). Both ends hold the same
 * 32-byte key, which never crosses the wire: each proves it by an HMAC-SHA256 over both nonces and all that was said,
 * with the role in front, so that a proof can't be played back or reflected. Pure but for random bytes.
 */
#ifndef SOC_LAUNCHER_AUTH_H
#define SOC_LAUNCHER_AUTH_H

#include "common/error.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>

#define AUTH_KEY 32
#define AUTH_NONCE 32
#define AUTH_PROOF crypto_auth_hmacsha256_BYTES
#define AUTH_STREAM crypto_secretstream_xchacha20poly1305_HEADERBYTES
#define AUTH_HELLO (2 + 1 + 1 + 4 + 4 + AUTH_NONCE + AUTH_STREAM + AUTH_PROOF)
#define AUTH_WELCOME (AUTH_STREAM + AUTH_PROOF)

enum auth_kind { AUTH_STEPPER = 1, AUTH_AGENT = 2, AUTH_CTL = 3 };

/* Who is calling; chosen by the dialer, proved by the key that belongs to it. */
struct auth_who {
	uint8_t kind;
	uint32_t id;   /* step id of a stepper, else 0 */
	uint32_t host; /* index of the host in the step (stepper) or in the job (agent) */
};

/* One side's state. */
struct auth {
	bool dialer, sealed; /* sealed: encrypt once open */
	struct auth_who who;
	unsigned char key[AUTH_KEY];
	unsigned char nonce_listener[AUTH_NONCE], nonce_dialer[AUTH_NONCE];
	unsigned char hello[AUTH_HELLO - AUTH_PROOF];
	crypto_secretstream_xchacha20poly1305_state push, pull;
};

int auth_init(struct error *err); /* once per process */
void auth_wipe(struct auth *a);

/* listener: 1. its nonce */
void auth_challenge(struct auth *a, unsigned char out[AUTH_NONCE]);
/* dialer: 2. with the key and who set by the caller */
int auth_hello(struct auth *a, const void *challenge, size_t n, unsigned char out[AUTH_HELLO],
	       struct error *err);
/* listener: 3a. reads who is there, nothing proved yet; -1 for a malformed one or another version */
int auth_read_hello(struct auth *a, const void *hello, size_t n, struct error *err);
/* listener: 3b. with the key for a->who set by the caller: checks the proof in constant time and answers */
int auth_welcome(struct auth *a, const void *hello, size_t n, unsigned char out[AUTH_WELCOME],
		 struct error *err);
/* dialer: 4. */
int auth_finish(struct auth *a, const void *welcome, size_t n, struct error *err);

/* Sealing of one frame: out has n + crypto_secretstream_xchacha20poly1305_ABYTES bytes. */
int auth_seal(struct auth *a, const void *frame, size_t n, unsigned char *out);
/* *out_n bytes into out (at most n); -1: forged or out of order. */
int auth_open(struct auth *a, const void *data, size_t n, unsigned char *out, size_t *out_n,
	      struct error *err);

#endif

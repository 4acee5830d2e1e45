/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary form of our files and messages: integers in network order, strings and byte strings with a u32 length
 * before them (0xffffffff: NULL). A reader checks every length; after the first bad one it is `bad` and gives zeros
 * and NULLs, so that a decoder reads all its fields and asks once, at the end, with unpack_done().
 */
#ifndef SOC_COMMON_PACK_H
#define SOC_COMMON_PACK_H

#include "common/argvec.h"
#include "common/error.h"
#include "common/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

void pack_u8(struct strbuf *out, uint8_t v);
void pack_u16(struct strbuf *out, uint16_t v);
void pack_u32(struct strbuf *out, uint32_t v);
void pack_u64(struct strbuf *out, uint64_t v);
void pack_bytes(struct strbuf *out, const void *data, size_t n);
void pack_str(struct strbuf *out, const char *s); /* NULL allowed */
void pack_argv(struct strbuf *out, const struct argvec *av);

struct unpack {
	const unsigned char *p;
	size_t left;
	bool bad;
};

#define UNPACK_INIT(data, n)                                                                                 \
	{                                                                                                    \
		(const unsigned char *)(data), (n), false                                                    \
	}

uint8_t unpack_u8(struct unpack *u);
uint16_t unpack_u16(struct unpack *u);
uint32_t unpack_u32(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
/* Borrowed bytes inside the input; NULL and *n = 0 when bad. */
const void *unpack_bytes(struct unpack *u, size_t *n);
/* A copy (caller frees), NULL for a packed NULL. A NUL byte inside makes the reader bad. */
char *unpack_str(struct unpack *u);
void unpack_argv(struct unpack *u, struct argvec *av);
/* 0 when every field was there and nothing is left over, else -1 with "<what>: malformed". */
int unpack_done(const struct unpack *u, const char *what, struct error *err);

#endif

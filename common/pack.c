/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pack.h"

#include "common/mem.h"

#include <endian.h>
#include <string.h>

#define PACK_NULL UINT32_MAX

void pack_u8(struct strbuf *out, uint8_t v)
{
	strbuf_add(out, &v, 1);
}

void pack_u16(struct strbuf *out, uint16_t v)
{
	v = htobe16(v);
	strbuf_add(out, &v, sizeof(v));
}

void pack_u32(struct strbuf *out, uint32_t v)
{
	v = htobe32(v);
	strbuf_add(out, &v, sizeof(v));
}

void pack_u64(struct strbuf *out, uint64_t v)
{
	v = htobe64(v);
	strbuf_add(out, &v, sizeof(v));
}

void pack_bytes(struct strbuf *out, const void *data, size_t n)
{
	pack_u32(out, (uint32_t)n);
	strbuf_add(out, data, n);
}

void pack_str(struct strbuf *out, const char *s)
{
	if (s)
		pack_bytes(out, s, strlen(s));
	else
		pack_u32(out, PACK_NULL);
}

void pack_argv(struct strbuf *out, const struct argvec *av)
{
	pack_u32(out, (uint32_t)av->n);
	for (size_t i = 0; i < av->n; i++)
		pack_str(out, av->v[i]);
}

static const unsigned char *take(struct unpack *u, size_t n)
{
	const unsigned char *p = u->p;

	if (u->bad || n > u->left) {
		u->bad = true;
		return NULL;
	}
	u->p += n;
	u->left -= n;
	return p;
}

uint8_t unpack_u8(struct unpack *u)
{
	const unsigned char *p = take(u, 1);

	return p ? *p : 0;
}

uint16_t unpack_u16(struct unpack *u)
{
	const unsigned char *p = take(u, 2);
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

uint32_t unpack_u32(struct unpack *u)
{
	const unsigned char *p = take(u, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

uint64_t unpack_u64(struct unpack *u)
{
	const unsigned char *p = take(u, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

const void *unpack_bytes(struct unpack *u, size_t *n)
{
	uint32_t len = unpack_u32(u);
	const unsigned char *p = take(u, len);

	*n = p ? len : 0;
	return p;
}

char *unpack_str(struct unpack *u)
{
	uint32_t len = unpack_u32(u);
	const unsigned char *p;

	if (len == PACK_NULL)
		return NULL;
	p = take(u, len);
	if (!p)
		return NULL;
	if (memchr(p, '\0', len)) {
		u->bad = true;
		return NULL;
	}
	return xstrndup((const char *)p, len);
}

void unpack_argv(struct unpack *u, struct argvec *av)
{
	uint32_t n = unpack_u32(u);

	/* each string costs at least its length word: a huge count can't make a huge loop */
	if (n > u->left / 4)
		u->bad = true;
	for (uint32_t i = 0; i < n && !u->bad; i++) {
		char *s = unpack_str(u);

		if (s)
			argvec_push_take(av, s);
		else
			u->bad = true;
	}
}

int unpack_done(const struct unpack *u, const char *what, struct error *err)
{
	if (u->bad || u->left)
		return error_set(err, ERR_PROTOCOL, "%s: malformed", what);
	return 0;
}

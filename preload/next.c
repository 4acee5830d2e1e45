/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym(RTLD_NEXT) without dlsym: on glibc < 2.34 that is in libdl.so.2, and an import of it kills each
 * process that hasn't libdl. So the symbol tables of the objects behind us are read here, the same way under
 * every C library.
 */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/next.h"
#include "preload/text.h"

/* tests/system/test_preload_rules.py builds a copy with another prefix: a library that finds nothing. */
#ifndef NEXT_PREFIX
#define NEXT_PREFIX ""
#endif

#define VERSYM_HIDDEN 0x8000 /* not the default version, e.g. posix_spawn@GLIBC_2.2.5 beside @@GLIBC_2.15 */

struct object {
	ElfW(Addr) base;
	const void *symbols; /* ElfW(Sym)[] */
	const char *strings;
	const uint16_t *versions; /* NULL: no symbol versions */
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
};

struct search {
	bool behind; /* our own object has been seen */
	struct next *next;
};

/* glibc relocates the addresses in most dynamic sections, musl and the kernel's vdso don't. */
static const void *object_address(const struct object *object, ElfW(Addr) value)
{
	return (const void *)(value < object->base ? object->base + value : value);
}

static void object_read(struct object *object, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;

	*object = (struct object){ .base = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const void *address = object_address(object, dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_SYMTAB)
			object->symbols = address;
		else if (dynamic->d_tag == DT_STRTAB)
			object->strings = address;
		else if (dynamic->d_tag == DT_VERSYM)
			object->versions = address;
		else if (dynamic->d_tag == DT_GNU_HASH)
			object->gnu_hash = address;
		else if (dynamic->d_tag == DT_HASH)
			object->sysv_hash = address;
	}
}

static bool object_holds(const struct dl_phdr_info *info, const void *address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		ElfW(Addr) offset = (ElfW(Addr))address - info->dlpi_addr - part->p_vaddr;
		if (part->p_type == PT_LOAD && offset < part->p_memsz)
			return true;
	}
	return false;
}

/* The address when symbol `index` defines the function `name` in its default version, else NULL. */
static void *symbol_match(const struct object *object, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = (const ElfW(Sym) *)object->symbols + index;

	if (symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 0xf) != STT_FUNC)
		return NULL;
	if (object->versions && object->versions[index] & VERSYM_HIDDEN)
		return NULL;
	if (!text_equal(object->strings + symbol->st_name, name))
		return NULL;
	return (void *)(object->base + symbol->st_value);
}

/* Layout of DT_GNU_HASH: buckets, first symbol, bloom words, bloom shift; bloom[], bucket[], chain[]. */
static void *gnu_lookup(const struct object *object, const char *name)
{
	const uint32_t *table = object->gnu_hash;
	uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3], hash = 5381;
	const ElfW(Addr) *bloom = (const void *)(table + 4);
	const uint32_t *bucket = (const void *)(bloom + words), *chain = bucket + buckets;
	const unsigned bits = 8 * sizeof *bloom;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	ElfW(Addr) word = bloom[hash / bits % words];
	if (!(word >> hash % bits & word >> (hash >> shift) % bits & 1))
		return NULL;
	uint32_t i = buckets ? bucket[hash % buckets] : 0;
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t other = chain[i - first];
		void *found = (other | 1) == (hash | 1) ? symbol_match(object, i, name) : NULL;
		if (found || other & 1)
			return found;
	}
}

/* Layout of DT_HASH: buckets, symbols; bucket[], chain[]. */
static void *sysv_lookup(const struct object *object, const char *name)
{
	uint32_t buckets = object->sysv_hash[0], hash = 0;
	const uint32_t *bucket = object->sysv_hash + 2, *chain = bucket + buckets;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0xfffffff;
	}
	for (uint32_t i = buckets ? bucket[hash % buckets] : 0; i; i = chain[i]) {
		void *found = symbol_match(object, i, name);
		if (found)
			return found;
	}
	return NULL;
}

static bool fill(const struct object *object, void **function, const char *name)
{
	if (!*function)
		*function = object->gnu_hash ? gnu_lookup(object, name) : sysv_lookup(object, name);
	return *function != NULL;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct next *next = search->next;
	struct object object;
	bool all;

	(void)size;
	if (!search->behind) {
		search->behind = object_holds(info, (const void *)next_find);
		return 0;
	}
	object_read(&object, info);
	if (!object.symbols || !object.strings || (!object.gnu_hash && !object.sysv_hash))
		return 0;
	all = fill(&object, (void **)&next->execve, NEXT_PREFIX "execve");
	all &= fill(&object, (void **)&next->execv, NEXT_PREFIX "execv");
	all &= fill(&object, (void **)&next->execvp, NEXT_PREFIX "execvp");
	all &= fill(&object, (void **)&next->execvpe, NEXT_PREFIX "execvpe");
	all &= fill(&object, (void **)&next->posix_spawn, NEXT_PREFIX "posix_spawn");
	all &= fill(&object, (void **)&next->posix_spawnp, NEXT_PREFIX "posix_spawnp");
	return all;
}

void next_find(struct next *next)
{
	struct search search = { .next = next };

	*next = (struct next){ 0 };
	dl_iterate_phdr(search_object, &search);
}

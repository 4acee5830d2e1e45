/* SPDX-License-Identifier: Apache-2.0 */
/* The table of configuration keys: parsing, defaults, limits, the sample file and the manual page come from it. */
#ifndef SOC_CONF_KEYS_H
#define SOC_CONF_KEYS_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum conf_type {
	CONF_STRING,     /* char * */
	CONF_INT,        /* int */
	CONF_BOOL,       /* bool */
	CONF_LIST,       /* struct argvec */
	CONF_PARTITIONS, /* partitions, npartitions */
	CONF_MAPS,       /* struct conf_maps */
};

struct conf_key {
	const char *name;
	enum conf_type type;
	size_t offset; /* of the field in the struct */
	const char *
		string; /* CONF_STRING: default; NULL: none, or conf.c derives it (then .otherwise says how) */
	long number;    /* CONF_INT and CONF_BOOL: default */
	long min, max;  /* CONF_INT: limits */
	const char *otherwise; /* the default in words, where it isn't a plain value */
	const char *example;   /* what the sample shows where there is no plain default */
	const char *text;      /* one sentence */
};

/* Settings at the top of the file, in the order of the sample. */
extern const struct conf_key conf_keys[];
extern const size_t conf_nkeys;
/* Settings of one group of `partitions`; offsets are in struct conf_partition, every type is CONF_STRING. */
extern const struct conf_key conf_partition_keys[];
extern const size_t conf_npartition_keys;
/* The same of one group of a CONF_MAPS; offsets are in struct conf_map. */
extern const struct conf_key conf_map_keys[];
extern const size_t conf_nmap_keys;

#endif

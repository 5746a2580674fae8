#ifndef TRUNKLINE_RUBY_ORIGIN_TABLE_H
#define TRUNKLINE_RUBY_ORIGIN_TABLE_H

#include "engine.h"

/* A hash table of a client's origins by the prefixes of their URLs, as callers write them. A zeroed
 * struct is an empty table. */

#define ORIGIN_TABLE_MOST 1024 /* most prefixes in a table */

typedef struct {
    char *prefix; /* owned; NULL: the slot is empty */
    size_t length;
    uint32_t hash;
    VALUE origin;
} origin_slot;

typedef struct {
    origin_slot *slots; /* owned */
    uint32_t capacity;  /* a power of two, or 0 */
    uint32_t count;
} origin_table;

/* Returns the Engine::Origin of this prefix ("https://api.test"), or nil. */
VALUE origin_table_find(const origin_table *t, const char *prefix, size_t length);

/* Adds an origin under a copy of `prefix`. A full table is emptied first, because origins are cheap
 * to open again. Without memory nothing is added. */
void origin_table_add(origin_table *t, const char *prefix, size_t length, VALUE origin);

/* Mark the origins for the GC; free the prefixes and slots, but not the struct; return their bytes.
 */
void origin_table_mark(const origin_table *t);
void origin_table_free(origin_table *t);
size_t origin_table_size(const origin_table *t);

#endif

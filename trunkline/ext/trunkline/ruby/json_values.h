#ifndef TRUNKLINE_RUBY_JSON_VALUES_H
#define TRUNKLINE_RUBY_JSON_VALUES_H

#include "engine.h"

/*
 * Makes the objects of a JSON value in one pass over its bytes, with the same result as JSON.parse.
 * It does not read the following, which is left to JSON.parse: invalid JSON, a repeated name, a
 * lone surrogate, syntax that options allow beyond RFC 8259, and very deep nesting.
 */

#define JSON_NAMES 256 /* a power of two */

typedef struct {
    VALUE text; /* a String; 0: none */
    VALUE name; /* the key in Hashes: `text`, or its Symbol */
} json_name;

typedef struct {
    bool symbolize_names, freeze;
    size_t max_nesting; /* most arrays and objects in each other; 0: no limit */
    size_t value_bytes; /* most bytes of a value */
    VALUE
    *made; /* owned; the values read, followed by the contents of incomplete arrays and objects */
    size_t made_count, made_room;
    buffer scratch;              /* for strings with escapes, and numbers with many digits */
    json_name names[JSON_NAMES]; /* cache of names of members, by their hashes */
} json_values;

/* The bytes to read. */
typedef struct {
    const uint8_t *begin, *end;
    bool whole;   /* the value does not go on after `end` */
    size_t depth; /* number of arrays and objects around the value */
    size_t most;  /* most elements of an array to read, with their separators; 1: one value */
} json_extent;

/* Reads values into v->made, where they stay until the next call. Returns the end of the last one;
 * NULL: none was read. Adds the number of line ends in and between them to *lines. */
const uint8_t *json_values_read(json_values *v, const json_extent *extent, uint64_t *lines);

/* Yields the values that were read, and removes them. */
void json_values_yield(json_values *v);

/* Mark the objects for the GC (the cache's too); return the bytes of memory beside the struct; free
 * that memory, but not the struct. */
void json_values_mark(const json_values *v);
size_t json_values_size(const json_values *v);
void json_values_free(json_values *v);

#endif

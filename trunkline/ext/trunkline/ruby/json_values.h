#ifndef TRUNKLINE_RUBY_JSON_VALUES_H
#define TRUNKLINE_RUBY_JSON_VALUES_H

#include "engine.h"

/*
 * Makes the objects of one value of JSON in one pass over its bytes. What it makes is what
 * JSON.parse makes; what it does not read is left to JSON.parse: what is no JSON, a name that comes
 * twice, half of a surrogate pair, what options allow beyond RFC 8259, and very deep nesting.
 */

#define JSON_NAMES 256 /* a power of two */

typedef struct {
    VALUE text; /* a String; 0: none */
    VALUE name; /* what it is in objects: that String, or a Symbol */
} json_name;

typedef struct {
    bool symbolize_names, freeze;
    size_t max_nesting; /* arrays and objects around each other; 0: any number */
    size_t value_bytes; /* of the longest value */
    VALUE
    *made; /* owned; what was read, behind which is what is in incomplete arrays and objects */
    size_t made_count, made_room;
    buffer scratch;              /* of strings with escapes, and numbers with many digits */
    json_name names[JSON_NAMES]; /* names of members that came lately, by their hashes */
} json_values;

/* Where to read. */
typedef struct {
    const uint8_t *begin, *end;
    bool whole;   /* no more of the value can come behind `end` */
    size_t depth; /* arrays and objects around it */
    size_t most;  /* elements of an array that are read, with what divides them; 1: one value */
} json_extent;

/* Reads values: v->made has them afterwards, until the next call. The end of the last; NULL: none
 * is read. Adds the line ends in and between them to `lines`. */
const uint8_t *json_values_read(json_values *v, const json_extent *extent, uint64_t *lines);

/* Yields what was read, once. */
void json_values_yield(json_values *v);

void json_values_mark(const json_values *v);
size_t json_values_size(const json_values *v);
void json_values_free(json_values *v);

#endif

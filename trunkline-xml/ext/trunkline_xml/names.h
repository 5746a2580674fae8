#ifndef TRUNKLINE_XML_NAMES_H
#define TRUNKLINE_XML_NAMES_H

#include <ruby.h>
#include <stdbool.h>

/* What is written for a name, ready to be copied. Never freed: names are few, and their number has
 * an end. */
typedef struct {
    ID id;
    size_t size; /* of the name; the pieces are that much longer, and so many bytes more: */
    const char *start_tag; /* "<name" */
    const char *end_tag;   /* "</name>" */
    const char *attribute; /* " name=" */
} known_name;

/* The pieces for an ASCII name, noted down when it is met first. NULL for other names, Symbols that
 * the collector may take, and when there are too many. */
const known_name *names_known(VALUE symbol);

/* Gives cNative a method of the tag's name, so that the next call need not go through
 * method_missing. Does so for a bounded number of names, and none while the cache is off. */
void names_learn(VALUE symbol);

/* Is the cache on? */
bool names_learning_p(void);

void names_init(void);

#endif

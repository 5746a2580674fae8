#ifndef TRUNKLINE_XML_NAMES_H
#define TRUNKLINE_XML_NAMES_H

#include <ruby.h>
#include <stdbool.h>

/* The text written for a name, ready to be copied. Never freed, because the number of names is
 * limited. */
typedef struct {
    ID id;
    size_t size;           /* bytes of the name alone */
    const char *start_tag; /* "<name" */
    const char *end_tag;   /* "</name>" */
    const char *attribute; /* " name=" */
} known_name;

/* Returns the texts for an ASCII name, and makes them at the first use. NULL for other names, for
 * Symbols that can be garbage collected, and when there are too many. */
const known_name *names_known(VALUE symbol);

/* Defines a method of the tag's name on cNative, so that the next call does not go through
 * method_missing. Does so for a limited number of names, and not while the cache is off. */
void names_define_method(VALUE symbol);

/* Returns whether that cache of methods is on. */
bool names_caching_p(void);

void names_init(void);

#endif

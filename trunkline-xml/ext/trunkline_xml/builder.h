#ifndef TRUNKLINE_XML_BUILDER_H
#define TRUNKLINE_XML_BUILDER_H

#include <ruby.h>
#include <stdbool.h>

/*
 * What a native builder knows. It writes UTF-8 and nobody has looked under its hood; as soon as one
 * of these ends, it surrenders: its state becomes instance variables, and the methods of its
 * superclass, in Ruby, go on from there.
 */
typedef struct {
    VALUE target;
    VALUE explicit_nil; /* the option as it was given */
    long indent;        /* spaces for each level */
    long level;
    char quote;
    bool surrendered;
} builder;

/* Trunkline::XML::Builder and its subclass in C. */
extern VALUE cBuilder, cNative;

/* The builder of a Ruby object of cNative. */
builder *builder_get(VALUE self);

/* The same of any object; NULL when there is none in C. */
builder *builder_find(VALUE object);

/* Hands the state over to Ruby; once more does no harm. */
void builder_surrender(VALUE self, builder *b);

/* One level down, wherever the level is kept. */
void builder_descend(VALUE self, builder *b);

/* Raises IllegalBlockError when the calling method was given a block. */
void builder_refuse_block(void);

/* Define their methods on cNative. */
void tag_init(void);
void special_init(void);

/* tag!, for a name that is known to be a Symbol. */
VALUE tag_write(VALUE self, VALUE symbol, int argc, const VALUE *argv);

#endif

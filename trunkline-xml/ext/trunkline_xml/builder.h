#ifndef TRUNKLINE_XML_BUILDER_H
#define TRUNKLINE_XML_BUILDER_H

#include <ruby.h>
#include <stdbool.h>

/*
 * The state of a native builder. It writes UTF-8 only, and no Ruby code has accessed its internals.
 * When either would change, it falls back to Ruby: its state is copied to instance variables, and
 * from then on the methods of its superclass, in Ruby, do the work.
 */
typedef struct {
    VALUE target;
    VALUE explicit_nil; /* the option as it was given */
    long indent;        /* spaces for each level */
    long level;
    char quote;
    bool in_ruby; /* whether the builder has fallen back to Ruby */
} builder;

/* Trunkline::XML::Builder and its subclass in C. */
extern VALUE cBuilder, cNative;

/* Returns the builder of an object of cNative, whose type is not checked. */
builder *builder_get(VALUE self);

/* Returns the builder of any object; NULL when the object is not a native builder. */
builder *builder_find(VALUE object);

/* Switches to the Ruby implementation (see above). Does nothing if that is done already. */
void builder_fall_back_to_ruby(VALUE self, builder *b);

/* Increments the level, in Ruby too after a fallback. */
void builder_descend(VALUE self, builder *b);

/* Raises IllegalBlockError when the calling method was given a block. */
void builder_refuse_block(void);

/* Define the methods of tag.c and markup.c on cNative. */
void tag_init(void);
void markup_init(void);

/* Calls tag! with a name that must be a Symbol. */
VALUE tag_write(VALUE self, VALUE symbol, int argc, const VALUE *argv);

#endif

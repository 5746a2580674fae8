#include "engine.h"

#include <string.h>

/* What lib/trunkline/body_reading.rb has read too much: it comes first in the next read, and is a
 * part of Response#body. Lines are cut from it here, without a copy of the rest for each. */

VALUE response_take_held(response *r) {
    VALUE held = r->held;
    if (NIL_P(held)) return Qnil;
    r->held = Qnil;
    return rb_str_subseq(held, r->held_from, RSTRING_LEN(held) - r->held_from);
}

/* call-seq: _hold(bytes) -> nil
 *
 * Of a String that the caller may change, what is there now. */
static VALUE hold(VALUE self, VALUE bytes) {
    response *r = response_get(self);
    StringValue(bytes);
    VALUE held = RSTRING_LEN(bytes) > 0 ? rb_str_new_frozen(bytes) : Qnil;
    RB_OBJ_WRITE(self, &r->held, held);
    r->held_from = 0;
    return Qnil;
}

/* call-seq: _take_held -> String or nil */
static VALUE take_held(VALUE self) {
    return response_take_held(response_get(self));
}

/* call-seq: _held? -> true or false */
static VALUE held_p(VALUE self) {
    return NIL_P(response_get(self)->held) ? Qfalse : Qtrue;
}

/* A byte that ends a line is no part of a character in encodings that are like ASCII. */
static bool lines_are_bytes(int encoding) {
    if (encoding < 0) return true;
    rb_encoding *of = rb_enc_from_index(encoding);
    return rb_enc_asciicompat(of) && !rb_enc_dummy_p(of);
}

/* call-seq: _held_line(limit, chomp) -> String or nil
 *
 * The next line, if all of it is held and it has no more bytes than limit: (Integer or nil). */
static VALUE held_line(VALUE self, VALUE limit, VALUE chomp) {
    response *r = response_get(self);
    if (NIL_P(r->held)) return Qnil;
    VALUE held = r->held;
    const char *start = RSTRING_PTR(held) + r->held_from;
    size_t length = (size_t)(RSTRING_LEN(held) - r->held_from);
    const char *end = memchr(start, '\n', length);
    if (end == NULL) return Qnil;
    long line = end + 1 - start;
    int encoding = response_encoding(r);
    if (!lines_are_bytes(encoding) || (!NIL_P(limit) && NUM2LONG(limit) < line)) return Qnil;
    r->held_from += line;
    if ((size_t)line == length) r->held = Qnil;
    if (RTEST(chomp)) line -= line > 1 && end[-1] == '\r' ? 2 : 1;
    VALUE text = encoding < 0 ? rb_str_new(start, line)
                              : rb_enc_str_new(start, line, rb_enc_from_index(encoding));
    RB_GC_GUARD(held);
    return text;
}

void body_reading_init(void) {
    rb_define_private_method(cResponse, "_hold", hold, 1);
    rb_define_private_method(cResponse, "_take_held", take_held, 0);
    rb_define_private_method(cResponse, "_held?", held_p, 0);
    rb_define_private_method(cResponse, "_held_line", held_line, 2);
}

#include "engine.h"

#include <string.h>

/* The held bytes: those that lib/trunkline/body_reading.rb has read too far. The next read returns
 * them first, and they are a part of Response#body. Lines are cut from them here, without a copy of
 * the rest for each line. */

VALUE response_take_held(response *r) {
    VALUE held = r->held;
    if (NIL_P(held)) return Qnil;
    r->held = Qnil;
    return rb_str_subseq(held, r->held_from, RSTRING_LEN(held) - r->held_from);
}

/* call-seq: _hold(bytes) -> nil
 *
 * Holds the current bytes of a String, which the caller may change afterwards. */
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

/* Returns the encoding of lines; NULL: it is not ASCII-compatible, so that the byte of a line feed
 * may be a part of a character. */
static rb_encoding *line_encoding(response *r) {
    int index = response_encoding(r);
    rb_encoding *encoding = index < 0 ? rb_ascii8bit_encoding() : rb_enc_from_index(index);
    return rb_enc_asciicompat(encoding) && !rb_enc_dummy_p(encoding) ? encoding : NULL;
}

/* Returns the next line, without its line end if `chomp`; nil if the line is not held completely,
 * or has more than `most` bytes. */
static VALUE cut_line(response *r, rb_encoding *encoding, size_t most, bool chomp) {
    VALUE held = r->held;
    if (encoding == NULL || NIL_P(held)) return Qnil;
    const char *start = RSTRING_PTR(held) + r->held_from;
    size_t length = (size_t)(RSTRING_LEN(held) - r->held_from);
    const char *end = memchr(start, '\n', length);
    if (end == NULL || (size_t)(end - start) >= most) return Qnil;
    size_t line = (size_t)(end - start) + 1;
    r->held_from += (long)line;
    if (line == length) r->held = Qnil;
    if (chomp) line -= line > 1 && end[-1] == '\r' ? 2 : 1;
    VALUE text = rb_enc_str_new(start, (long)line, encoding);
    RB_GC_GUARD(held);
    return text;
}

static size_t limit_of(VALUE limit) {
    return NIL_P(limit) ? SIZE_MAX : NUM2SIZET(limit);
}

/* call-seq: _held_line(limit, chomp) -> String or nil
 *
 * Returns the next line, if it is held completely and has at most limit (Integer or nil) bytes. */
static VALUE held_line(VALUE self, VALUE limit, VALUE chomp) {
    response *r = response_get(self);
    return cut_line(r, line_encoding(r), limit_of(limit), RTEST(chomp));
}

/* call-seq: _each_held_line(limit, chomp) { |line| } -> nil
 *
 * Yields each line that _held_line would return. The block may read more of the body, or leave. */
static VALUE each_held_line(VALUE self, VALUE limit, VALUE chomp) {
    response *r = response_get(self);
    rb_encoding *encoding = line_encoding(r);
    size_t most = limit_of(limit);
    rb_need_block();
    for (VALUE line; !NIL_P(line = cut_line(r, encoding, most, RTEST(chomp)));) rb_yield(line);
    RB_GC_GUARD(self);
    return Qnil;
}

void body_reading_init(void) {
    rb_define_private_method(cResponse, "_hold", hold, 1);
    rb_define_private_method(cResponse, "_take_held", take_held, 0);
    rb_define_private_method(cResponse, "_held?", held_p, 0);
    rb_define_private_method(cResponse, "_held_line", held_line, 2);
    rb_define_private_method(cResponse, "_each_held_line", each_held_line, 2);
}

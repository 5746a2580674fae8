#include "writer.h"
#include "number.h"

/* Bytes of room that a window is opened with, enough for an ordinary tag. */
enum { ROOM = 128 };
/* Chunks::SIZE */
enum { CHUNK = 16 * 1024 };

static VALUE output_buffer_class = Qnil, chunks_class = Qnil;
static ID id_append, id_buffer, id_raw_buffer, id_to_s, id_flush;

static bool plain_p(VALUE object) {
    return RB_TYPE_P(object, T_STRING) && RBASIC_CLASS(object) == rb_cString &&
           ENCODING_GET(object) == utf8_index;
}

/* Returns the String to write to directly, or Qfalse. To be called again after Ruby code has run:
 * capturing changes the String in an output buffer, and any code may change a String's encoding. */
static VALUE direct_target(const builder *b) {
    VALUE target = b->target;
    if (RB_SPECIAL_CONST_P(target)) return Qfalse;
    if (RBASIC_CLASS(target) == chunks_class)
        target = rb_ivar_get(target, id_buffer);
    else if (RBASIC_CLASS(target) == output_buffer_class)
        target = rb_ivar_get(rb_ivar_get(target, id_buffer), id_raw_buffer);
    return plain_p(target) && !OBJ_FROZEN(target) ? target : Qfalse;
}

static void begin_fragment(writer *w) {
    w->start = w->out.at - RSTRING_PTR(w->out.string);
    w->start_coderange = w->out.coderange;
}

static VALUE new_fragment(void) {
    VALUE fragment = rb_enc_str_new(NULL, 0, rb_utf8_encoding());
    ENC_CODERANGE_SET(fragment, ENC_CODERANGE_7BIT);
    return fragment;
}

void writer_open(writer *w, const builder *b) {
    w->builder = b;
    writer_resume(w);
}

void writer_resume(writer *w) {
    VALUE string = direct_target(w->builder);
    w->detached = !string;
    buffer_open(&w->out, string ? string : new_fragment(), w->detached ? 0 : ROOM);
    begin_fragment(w);
}

void writer_pause(writer *w) {
    if (!w->detached) buffer_close(&w->out);
}

void writer_close(writer *w) {
    writer_pause(w);
    VALUE target = w->builder->target;
    if (w->detached || target == w->out.string || RBASIC_CLASS(target) != chunks_class) return;
    if (RSTRING_LEN(w->out.string) >= CHUNK) rb_funcall(target, id_flush, 0);
}

static VALUE push(const builder *b, VALUE object) {
    return rb_funcall(b->target, id_append, 1, object);
}

VALUE writer_end_fragment(writer *w) {
    if (RB_LIKELY(!w->detached)) {
        begin_fragment(w);
        return w->out.string;
    }
    buffer_close(&w->out);
    VALUE result = push(w->builder, w->out.string);
    writer_resume(w);
    return result;
}

VALUE writer_push(writer *w, VALUE object) {
    if (!w->detached && plain_p(object) && object != w->out.string) {
        writer_put_string(w, object);
        return writer_end_fragment(w);
    }
    writer_pause(w);
    VALUE result = push(w->builder, object);
    writer_resume(w);
    return result;
}

/* Moves the unfinished fragment out of the target, so that a failure leaves the target unchanged.
 */
static void detach(writer *w) {
    const char *from = RSTRING_PTR(w->out.string) + w->start;
    VALUE fragment = rb_enc_str_new(from, w->out.at - from, rb_utf8_encoding());
    w->out.at = RSTRING_PTR(w->out.string) + w->start;
    w->out.coderange = w->start_coderange;
    buffer_close(&w->out);
    w->detached = true;
    buffer_open(&w->out, fragment, 0);
}

/* Appends to the fragment by rb_str_append, which converts encodings or raises. */
static void append(writer *w, VALUE string) {
    if (!w->detached) detach(w);
    buffer_close(&w->out);
    rb_str_append(w->out.string, string);
    rb_enc_str_coderange(w->out.string);
    buffer_open(&w->out, w->out.string, 0);
}

void writer_put_string(writer *w, VALUE string) {
    int coderange = rb_enc_str_coderange(string);
    if (coderange != ENC_CODERANGE_7BIT) {
        if (ENCODING_GET(string) != utf8_index || ENCODING_GET(w->out.string) != utf8_index) {
            append(w, string);
            return;
        }
        if (coderange == ENC_CODERANGE_VALID)
            buffer_note_utf8(&w->out);
        else
            buffer_note_unknown(&w->out);
    }
    buffer_put(&w->out, RSTRING_PTR(string), (size_t)RSTRING_LEN(string));
    RB_GC_GUARD(string);
}

/* Like interpolation, changes a US-ASCII fragment to the encoding of the next part. */
void writer_put_after(writer *w, const char *ascii) {
    if (w->detached && ENCODING_GET(w->out.string) == rb_usascii_encindex())
        rb_enc_associate_index(w->out.string, rb_utf8_encindex());
    writer_put(w, ascii);
}

void writer_put_escaped(writer *w, VALUE string, escape_kind kind) {
    if (ENCODING_GET(w->out.string) != utf8_index)
        append(w, escape_string(string, kind));
    else
        escape_put_string(&w->out, string, kind);
}

VALUE writer_readable(writer *w, VALUE object) {
    bool is_target = object == w->out.string;
    if (!is_target && RB_TYPE_P(object, T_STRING) && escape_readable_p(object)) return object;
    writer_pause(w);
    object = escape_readable(is_target ? rb_str_dup(object) : object);
    writer_resume(w);
    return object;
}

void writer_put_indent(writer *w) {
    const builder *b = w->builder;
    if (b->indent == 0 || b->level == 0) return;
    buffer_fill(&w->out, ' ', (size_t)(b->level * b->indent));
    writer_end_fragment(w);
}

void writer_put_newline(writer *w) {
    if (w->builder->indent == 0) return;
    writer_put(w, "\n");
    writer_end_fragment(w);
}

/* Returns `"#{key}"`. */
static VALUE key_string(writer *w, VALUE key) {
    if (RB_SYMBOL_P(key)) return rb_sym2str(key);
    if (!RB_SPECIAL_CONST_P(key) && RBASIC_CLASS(key) == rb_cString) return key;
    writer_pause(w);
    VALUE string = rb_obj_as_string(key);
    writer_resume(w);
    return string;
}

/* Returns the value as a String to escape. Not for Symbols, which are written without escaping. */
static VALUE value_string(writer *w, VALUE value) {
    if (RB_SPECIAL_CONST_P(value) || RBASIC_CLASS(value) != rb_cString) {
        writer_pause(w);
        value = rb_funcall(value, id_to_s, 0);
        writer_resume(w);
    }
    return writer_readable(w, value);
}

/* The text of a value: `string`, or `digits` if that is Qfalse. */
typedef struct {
    VALUE string;
    char digits[NUMBER_SIZE];
    size_t size;
} attribute_value;

static void convert_value(writer *w, VALUE value, attribute_value *result) {
    result->size = RB_SPECIAL_CONST_P(value) ? number_digits(value, result->digits) : 0;
    if (result->size)
        result->string = Qfalse;
    else if (RB_SYMBOL_P(value))
        result->string = rb_sym2str(value);
    else
        result->string = value_string(w, value);
}

/* Calls all Ruby code before it begins to write the fragment. */
static void put_attribute(writer *w, VALUE key, VALUE value) {
    char quote = w->builder->quote;
    attribute_value result;
    const known_name *known = RB_SYMBOL_P(key) ? names_known(key) : NULL;
    VALUE name = known ? Qfalse : key_string(w, key);
    convert_value(w, value, &result);

    if (known) {
        buffer_put(&w->out, known->attribute, known->size + 2);
    } else {
        writer_put(w, " ");
        writer_put_string(w, name);
        writer_put_after(w, "=");
    }
    buffer_put_byte(&w->out, quote);
    if (!result.string)
        buffer_put(&w->out, result.digits, result.size);
    else if (RB_SYMBOL_P(value))
        writer_put_string(w, result.string);
    else
        writer_put_escaped(w, result.string, ESCAPE_ATTRIBUTE);
    buffer_put_byte(&w->out, quote);
    writer_end_fragment(w);
}

static int collect_pair(VALUE key, VALUE value, VALUE cursor) {
    VALUE **next = (VALUE **)cursor;
    *(*next)++ = key;
    *(*next)++ = value;
    return ST_CONTINUE;
}

static bool member_p(const VALUE *keys, int count, VALUE key) {
    for (int i = 0; i < count; i++)
        if (keys[i] == key) return true;
    return false;
}

/* Most pairs that are copied to the stack; Hashes of attributes are small. */
enum { FEW_PAIRS = 8 };

/* Copies the pairs first, because a value's to_s may change the Hash. */
void writer_put_attributes(writer *w, VALUE hash, const VALUE *first, int first_count) {
    for (int i = 0; i < first_count; i++) {
        writer_pause(w);
        VALUE value = rb_hash_aref(hash, first[i]);
        writer_resume(w);
        if (RTEST(value)) put_attribute(w, first[i], value);
    }
    size_t size = RHASH_SIZE(hash);
    if (size == 0) return;
    VALUE few[FEW_PAIRS * 2], many = 0;
    VALUE *pairs = size <= FEW_PAIRS ? few : ALLOCV_N(VALUE, many, size * 2), *end = pairs;
    rb_hash_foreach(hash, collect_pair, (VALUE)&end);
    for (VALUE *pair = pairs; pair < end; pair += 2)
        if (!member_p(first, first_count, pair[0])) put_attribute(w, pair[0], pair[1]);
    if (many) ALLOCV_END(many);
}

void writer_set_output_buffer(VALUE klass) {
    output_buffer_class = klass;
}

void writer_set_chunks(VALUE klass) {
    chunks_class = klass;
}

void writer_init(void) {
    rb_gc_register_address(&chunks_class);
    id_flush = rb_intern("flush");
    rb_gc_register_address(&output_buffer_class);
    id_append = rb_intern("<<");
    id_buffer = rb_intern("@buffer");
    id_raw_buffer = rb_intern("@raw_buffer");
    id_to_s = rb_intern("to_s");
}

#include "json_values.h"

#include "protocol/json/json_number.h"
#include "protocol/json/json_string.h"
#include "protocol/json/json_tokens.h"

#define MOST_NESTING 100  /* levels of recursion on the C stack */
#define NAME_BYTES 64     /* of the longest name that is cached */
#define INTEGER_DIGITS 18 /* any number of 18 digits fits in 64 bits with a sign */
#define MOST_EXPONENT 300
#define KEPT_BYTES (64 * 1024)
#define LONG_STRING 4096 /* bytes of the shortest string that is reported to the GC */

typedef struct {
    json_values *values;
    const uint8_t *p, *end;
    bool whole;
    size_t depth;
    uint64_t lines;
} reading;

static bool read_value(reading *r);

/* ---- the values made ---- */

void json_values_mark(const json_values *v) {
    for (size_t i = 0; i < v->made_count; i++) rb_gc_mark(v->made[i]);
    for (size_t i = 0; i < JSON_NAMES; i++) {
        if (v->names[i].text == 0) continue;
        rb_gc_mark(v->names[i].text);
        rb_gc_mark(v->names[i].name);
    }
}

size_t json_values_size(const json_values *v) {
    return v->made_room * sizeof(*v->made) + v->scratch.capacity;
}

static void free_made(json_values *v) {
    free(v->made);
    v->made = NULL;
    v->made_count = v->made_room = 0;
}

void json_values_free(json_values *v) {
    free_made(v);
    buffer_free(&v->scratch);
}

static void make_room(json_values *v) {
    size_t room = v->made_room > 0 ? v->made_room * 2 : 64;
    VALUE *grown = realloc(v->made, room * sizeof(*grown));
    if (grown == NULL) rb_memerror();
    v->made = grown;
    v->made_room = room;
}

static inline void push(json_values *v, VALUE value) {
    if (v->made_count == v->made_room) make_room(v);
    v->made[v->made_count++] = value;
}

/* Replaces the elements or members from `first` on by the array or object made of them. */
static void replace(json_values *v, size_t first, VALUE value) {
    if (v->freeze) rb_obj_freeze(value);
    v->made_count = first;
    push(v, value);
}

/* ---- strings ---- */

/* Reports the bytes of a long string to the GC a second time, after malloc has counted them, so
 * that the GC runs after half as many bytes. Long strings are few objects with many bytes:
 * otherwise the GC would run late, and tens of megabytes of garbage would accumulate. */
static void report_to_gc(size_t count) {
    if (count >= LONG_STRING) rb_gc_adjust_memory_usage((ssize_t)count);
}

static VALUE string_of(const json_values *v, const uint8_t *bytes, size_t count) {
    const char *text = (const char *)bytes;
    report_to_gc(count);
    if (v->freeze) return rb_enc_interned_str(text, (long)count, rb_utf8_encoding());
    return rb_utf8_str_new(text, (long)count);
}

/* Decodes the string whose quote is at `r->p`, and moves r->p past it. The bytes are in `scratch`
 * or in the input. Returns false when the string cannot be read here. */
static bool read_bytes(reading *r, const uint8_t **bytes, size_t *count) {
    bool escaped;
    const uint8_t *first = r->p + 1, *stop = json_string_end(first, r->end, &escaped);
    if (stop == NULL) return false;
    r->p = stop + 1;
    *bytes = first;
    *count = (size_t)(stop - first);
    if (!escaped) return true;
    buffer *scratch = &r->values->scratch;
    buffer_clear(scratch);
    if (!buffer_reserve(scratch, *count)) rb_memerror();
    *bytes = buffer_tail(scratch);
    return json_string_decode(first, *count, buffer_tail(scratch), count);
}

static bool read_string(reading *r) {
    const uint8_t *bytes;
    size_t count;
    if (!read_bytes(r, &bytes, &count)) return false;
    push(r->values, string_of(r->values, bytes, count));
    return true;
}

/* ---- names of members ---- */

static json_name *name_cache_slot(json_values *v, const uint8_t *bytes, size_t count) {
    uint64_t first = 0, last = 0;
    if (count >= 8) {
        memcpy(&first, bytes, 8);
        memcpy(&last, bytes + count - 8, 8);
    } else {
        memcpy(&first, bytes, count);
    }
    uint64_t hash = (first ^ (last << 1) ^ count) * UINT64_C(0x9E3779B97F4A7C15);
    return &v->names[hash >> 56 & (JSON_NAMES - 1)];
}

/* Returns false when no Symbol can be made from the name. */
static bool make_name(const json_values *v, const uint8_t *bytes, size_t count, json_name *made) {
    made->text = rb_enc_interned_str((const char *)bytes, (long)count, rb_utf8_encoding());
    made->name = made->text;
    if (!v->symbolize_names) return true;
    if (rb_enc_str_coderange(made->text) == ENC_CODERANGE_BROKEN) return false;
    made->name = rb_str_intern(made->text);
    return true;
}

static bool read_name(reading *r) {
    const uint8_t *bytes;
    size_t count;
    json_values *v = r->values;
    if (!read_bytes(r, &bytes, &count)) return false;
    json_name *slot = name_cache_slot(v, bytes, count), made;
    bool same = slot->text != 0 && (size_t)RSTRING_LEN(slot->text) == count &&
                memcmp(RSTRING_PTR(slot->text), bytes, count) == 0;
    if (same) {
        push(v, slot->name);
        return true;
    }
    if (!make_name(v, bytes, count, &made)) return false;
    if (count <= NAME_BYTES) *slot = made;
    push(v, made.name);
    return true;
}

/* ---- numbers and literals ---- */

/* Returns a copy of the number's text in `scratch`, with a NUL at its end. */
static const char *number_text(reading *r, size_t count) {
    buffer *scratch = &r->values->scratch;
    buffer_clear(scratch);
    if (!buffer_append(scratch, r->p, count) || !buffer_append(scratch, "", 1)) rb_memerror();
    return (const char *)buffer_head(scratch);
}

/* Returns false when the number may be too large or too small for a Float, because the conversion
 * would print a warning then. */
static bool float_of(reading *r, const json_number *number, VALUE *made) {
    double value;
    if (!json_number_double(number, &value)) {
        int64_t most = number->exponent + (int64_t)number->length;
        if (most > MOST_EXPONENT || number->exponent < -MOST_EXPONENT) return false;
        value = rb_cstr_to_dbl(number_text(r, number->length), 1);
    }
    *made = DBL2NUM(value);
    return true;
}

static VALUE integer_of(reading *r, const json_number *number) {
    if (number->length > INTEGER_DIGITS) return rb_cstr2inum(number_text(r, number->length), 10);
    int64_t digits = (int64_t)number->digits;
    return LL2NUM(number->negative ? -digits : digits);
}

/* Reads an integer that fits in 64 bits. Returns false for any other number. */
static inline bool read_integer(reading *r) {
    bool negative = *r->p == '-';
    const uint8_t *first = r->p + negative, *p = first;
    int64_t digits = 0;
    if (r->end - p <= INTEGER_DIGITS) return false; /* its end may be missing */
    while (p - first < INTEGER_DIGITS && json_is_digit(*p)) digits = digits * 10 + (*p++ - '0');
    bool ended = *p == ',' || *p == ']' || *p == '}' || json_is_blank(*p);
    if (!ended || p == first || (*first == '0' && p - first > 1)) return false;
    push(r->values, LL2NUM(negative ? -digits : digits));
    r->p = p;
    return true;
}

static bool read_number(reading *r) {
    json_number number;
    if (read_integer(r)) return true;
    if (!json_number_read(&number, r->p, r->end)) return false;
    if (r->p + number.length == r->end && !r->whole) return false;
    VALUE made;
    if (!number.is_float)
        made = integer_of(r, &number);
    else if (!float_of(r, &number, &made))
        return false;
    push(r->values, made);
    r->p += number.length;
    return true;
}

static inline bool read_literal(reading *r, const char *word, size_t length, VALUE value) {
    if ((size_t)(r->end - r->p) < length || memcmp(r->p, word, length) != 0) return false;
    push(r->values, value);
    r->p += length;
    return true;
}

/* ---- arrays and objects ---- */

/* Skips whitespace. Returns false when no byte follows. */
static inline bool skip_blanks(reading *r) {
    for (; r->p < r->end; r->p++) {
        if (!json_is_blank(*r->p)) return true;
        if (*r->p == '\n') r->lines++;
    }
    return false;
}

/* Skips whitespace, and then `byte`. Returns false when another byte follows. */
static inline bool skip_byte(reading *r, uint8_t byte) {
    if (!skip_blanks(r) || *r->p != byte) return false;
    r->p++;
    return true;
}

static bool open(reading *r) {
    size_t most = r->values->max_nesting;
    r->p++;
    if (r->depth == MOST_NESTING || (most > 0 && r->depth >= most)) return false;
    r->depth++;
    return true;
}

static bool read_array(reading *r) {
    json_values *v = r->values;
    size_t first = v->made_count;
    if (!open(r)) return false;
    if (!skip_byte(r, ']')) {
        do {
            if (!skip_blanks(r) || !read_value(r)) return false;
        } while (skip_byte(r, ','));
        if (!skip_byte(r, ']')) return false;
    }
    r->depth--;
    size_t count = v->made_count - first;
    replace(v, first, rb_ary_new_from_values((long)count, v->made + first));
    return true;
}

static bool read_member(reading *r) {
    if (!skip_blanks(r) || *r->p != '"' || !read_name(r)) return false;
    return skip_byte(r, ':') && skip_blanks(r) && read_value(r);
}

static bool read_object(reading *r) {
    json_values *v = r->values;
    size_t first = v->made_count;
    if (!open(r)) return false;
    if (!skip_byte(r, '}')) {
        do {
            if (!read_member(r)) return false;
        } while (skip_byte(r, ','));
        if (!skip_byte(r, '}')) return false;
    }
    r->depth--;
    size_t count = v->made_count - first;
    VALUE hash = rb_hash_new();
    rb_hash_bulk_insert((long)count, v->made + first, hash);
    if (RHASH_SIZE(hash) != count / 2) return false; /* a name is repeated */
    replace(v, first, hash);
    return true;
}

static bool read_value(reading *r) {
    switch (*r->p) {
    case '"': return read_string(r);
    case '{': return read_object(r);
    case '[': return read_array(r);
    case 't': return read_literal(r, "true", 4, Qtrue);
    case 'f': return read_literal(r, "false", 5, Qfalse);
    case 'n': return read_literal(r, "null", 4, Qnil);
    default: return read_number(r);
    }
}

/* Returns whether the number or literal that was read ends at r->p. */
static inline bool is_ended(const reading *r) {
    if (r->p == r->end) return r->whole;
    return *r->p == ',' || *r->p == ']' || *r->p == '}' || json_is_blank(*r->p);
}

static inline bool read_one(reading *r) {
    const uint8_t *begin = r->p;
    bool scalar = *begin != '"' && *begin != '[' && *begin != '{';
    if (!read_value(r) || (scalar && !is_ended(r))) return false;
    return (size_t)(r->p - begin) <= r->values->value_bytes;
}

const uint8_t *json_values_read(json_values *v, const json_extent *extent, uint64_t *lines) {
    reading r = {.values = v,
                 .p = extent->begin,
                 .end = extent->end,
                 .whole = extent->whole,
                 .depth = extent->depth};
    const uint8_t *stop = NULL;
    size_t count = 0;
    v->made_count = 0; /* an exception may have ended the previous call */
    while (r.p < r.end && read_one(&r)) {
        count++;
        stop = r.p;
        *lines += r.lines;
        r.lines = 0;
        if (count == extent->most || !skip_byte(&r, ',') || !skip_blanks(&r)) break;
    }
    v->made_count = count;
    return stop;
}

void json_values_yield(json_values *v) {
    for (size_t i = 0; i < v->made_count; i++) rb_yield(v->made[i]);
    v->made_count = 0;
    if (v->made_room * sizeof(*v->made) > KEPT_BYTES) free_made(v);
    if (v->scratch.capacity > KEPT_BYTES) buffer_free(&v->scratch);
}

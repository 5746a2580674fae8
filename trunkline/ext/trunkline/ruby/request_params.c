#include "request_params.h"

#include "protocol/url/url.h"

#include <stdio.h>
#include <string.h>

bool text_of_scalar(VALUE value, char *digits, const char **text, size_t *length) {
    if (FIXNUM_P(value)) {
        *length = (size_t)snprintf(digits, DIGITS, "%ld", FIX2LONG(value));
        *text = digits;
        return true;
    }
    VALUE string = SYMBOL_P(value) ? rb_sym2str(value) : value;
    if (!RB_TYPE_P(string, T_STRING)) return false;
    *text = RSTRING_PTR(string);
    *length = (size_t)RSTRING_LEN(string);
    return true;
}

static bool usual_value(VALUE value) {
    if (value == Qtrue || value == Qfalse || NIL_P(value)) return true;
    return FIXNUM_P(value) || SYMBOL_P(value) ||
           (RB_TYPE_P(value, T_STRING) && rb_obj_class(value) == rb_cString);
}

static int add(VALUE name, VALUE value, VALUE argument) {
    request_params *p = (request_params *)argument;
    bool usual_name =
        SYMBOL_P(name) || (RB_TYPE_P(name, T_STRING) && rb_obj_class(name) == rb_cString);
    if (p->count >= PARAMS_MOST || !usual_name || !usual_value(value)) {
        p->count = PARAMS_MOST + 1;
        return ST_STOP;
    }
    p->names[p->count] = name;
    p->values[p->count++] = value;
    return ST_CONTINUE;
}

static bool before(VALUE one, VALUE other) {
    char unused[DIGITS];
    const char *a, *b;
    size_t a_length, b_length;
    text_of_scalar(one, unused, &a, &a_length);
    text_of_scalar(other, unused, &b, &b_length);
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order < 0 : a_length < b_length;
}

static void sort(request_params *p) {
    for (uint32_t i = 1; i < p->count; i++) {
        VALUE name = p->names[i], value = p->values[i];
        uint32_t at = i;
        for (; at > 0 && before(name, p->names[at - 1]); at--) {
            p->names[at] = p->names[at - 1];
            p->values[at] = p->values[at - 1];
        }
        p->names[at] = name;
        p->values[at] = value;
    }
}

static bool same_name(VALUE one, VALUE other) {
    return !before(one, other) && !before(other, one);
}

/* Keeps the last value of a repeated name, as the sort is stable; :a and "a" are the same name. */
static void drop_repeated(request_params *p) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (i + 1 < p->count && same_name(p->names[i], p->names[i + 1])) continue;
        p->names[kept] = p->names[i];
        p->values[kept++] = p->values[i];
    }
    p->count = kept;
}

bool params_take(request_params *p, VALUE own, VALUE given) {
    p->count = 0;
    if (!RB_TYPE_P(given, T_HASH) || (!NIL_P(own) && !RB_TYPE_P(own, T_HASH))) return false;
    if (!NIL_P(own)) rb_hash_foreach(own, add, (VALUE)p);
    rb_hash_foreach(given, add, (VALUE)p);
    if (p->count > PARAMS_MOST) return false;
    sort(p);
    drop_repeated(p);
    return true;
}

static void value_text(VALUE value, char *digits, const char **text, size_t *length) {
    if (value == Qtrue || value == Qfalse) {
        *text = value == Qtrue ? "true" : "false";
        *length = strlen(*text);
        return;
    }
    text_of_scalar(value, digits, text, length);
}

size_t params_length(const request_params *p) {
    size_t total = p->count > 0 ? p->count - 1 : 0;
    for (uint32_t i = 0; i < p->count; i++) {
        char digits[DIGITS];
        const char *text;
        size_t length;
        text_of_scalar(p->names[i], digits, &text, &length);
        total += form_length(text, length);
        if (!NIL_P(p->values[i])) {
            value_text(p->values[i], digits, &text, &length);
            total += 1 + form_length(text, length);
        }
    }
    return total;
}

void params_put(char *out, const request_params *p) {
    for (uint32_t i = 0; i < p->count; i++) {
        char digits[DIGITS];
        const char *text;
        size_t length;
        if (i > 0) *out++ = '&';
        text_of_scalar(p->names[i], digits, &text, &length);
        out = form_put(out, text, length);
        if (!NIL_P(p->values[i])) {
            *out++ = '=';
            value_text(p->values[i], digits, &text, &length);
            out = form_put(out, text, length);
        }
    }
}

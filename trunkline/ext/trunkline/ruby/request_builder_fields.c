#include "request_builder_internal.h"

#include "protocol/guard.h"
#include "protocol/http1/http1.h"

#include <string.h>

/* Lists the fields of a request: the client's, those that follow from the URL and the content, and
 * the call's. No list_ function calls Ruby, because a list points into Strings. */

/* ---- fields of the client ---- */

static size_t pairs_length(VALUE pairs) {
    size_t total = 0;
    for (long i = 0; i < RARRAY_LEN(pairs); i++) {
        VALUE pair = rb_ary_entry(pairs, i);
        Check_Type(pair, T_ARRAY);
        VALUE name = rb_ary_entry(pair, 0), value = rb_ary_entry(pair, 1);
        total += (size_t)RSTRING_LEN(StringValue(name)) + 4;
        total += NIL_P(value) ? 0 : (size_t)RSTRING_LEN(StringValue(value));
    }
    return total;
}

static const char *keep_bytes(char **at, const char *bytes, long length) {
    char *start = *at;
    memcpy(start, bytes, (size_t)length);
    *at += length;
    return start;
}

/* Stores a field as the complete line to send. */
static void keep_field(request_field *f, char **at, VALUE name, VALUE value) {
    f->name_length = (uint32_t)RSTRING_LEN(name);
    f->name = keep_bytes(at, RSTRING_PTR(name), RSTRING_LEN(name));
    f->kind = (uint8_t)field_kind(f->name, f->name_length, false);
    if (NIL_P(value)) return;
    keep_bytes(at, ": ", 2);
    f->value_length = (uint32_t)RSTRING_LEN(value);
    f->value = keep_bytes(at, RSTRING_PTR(value), RSTRING_LEN(value));
    keep_bytes(at, "\r\n", 2);
    f->whole = true;
}

void builder_take_fields(builder *b, VALUE pairs, VALUE unbound) {
    Check_Type(pairs, T_ARRAY);
    size_t length = pairs_length(pairs);
    b->field_count = (uint32_t)RARRAY_LEN(pairs);
    b->unbound_count = NUM2UINT(unbound);
    if (b->unbound_count > b->field_count)
        rb_raise(rb_eArgError, "there are only %u fields", b->field_count);
    char *at = b->strings = malloc(length + 1);
    b->fields = calloc(b->field_count + 1, sizeof(*b->fields));
    if (b->strings == NULL || b->fields == NULL) rb_memerror();
    for (uint32_t i = 0; i < b->field_count; i++) {
        VALUE pair = rb_ary_entry(pairs, i);
        keep_field(&b->fields[i].field, &at, rb_ary_entry(pair, 0), rb_ary_entry(pair, 1));
        b->fields[i].own = RTEST(rb_ary_entry(pair, 2));
    }
}

/* ---- fields of a request ---- */

static void list_add(field_list *l, request_field f) {
    l->at[l->count++] = f;
}

static void list_text(field_list *l, int group, const char *name, VALUE value) {
    list_add(l, (request_field){.name = name,
                                .name_length = (uint32_t)strlen(name),
                                .value = RSTRING_PTR(value),
                                .value_length = (uint32_t)RSTRING_LEN(value),
                                .group = (uint8_t)group,
                                .kind = FIELD_OTHER});
}

static bool blank(char byte) {
    return byte == ' ' || byte == '\t';
}

/* Removes white space around a value, which is not a part of it (RFC 9110 5.5). */
static void trim(request_field *f) {
    while (f->value_length > 0 && blank(f->value[0])) {
        f->value++;
        f->value_length--;
    }
    while (f->value_length > 0 && blank(f->value[f->value_length - 1])) f->value_length--;
}

static bool take_name(request_field *f, VALUE name) {
    f->underscores = SYMBOL_P(name);
    name = SYMBOL_P(name) ? rb_sym2str(name) : name;
    if (!RB_TYPE_P(name, T_STRING) || !is_ascii_compatible(name) || RSTRING_LEN(name) > UINT16_MAX)
        return false;
    f->name = RSTRING_PTR(name);
    f->name_length = (uint32_t)RSTRING_LEN(name);
    f->kind = (uint8_t)field_kind(f->name, f->name_length, f->underscores);
    return http1_name_valid(f->name, f->name_length);
}

static bool take_value(field_list *l, request_field *f, VALUE value) {
    size_t length;
    if (NIL_P(value)) return true;
    if (FIXNUM_P(value) && l->numbers == USUAL_NUMBERS) return false;
    char *digits = FIXNUM_P(value) ? l->digits[l->numbers++] : NULL;
    if (!text_of_scalar(value, digits, &f->value, &length) || length > INT32_MAX) return false;
    f->value_length = (uint32_t)length;
    trim(f);
    return http1_value_valid(f->value, f->value_length);
}

/* Returns whether the field affects the framing of a request; Ruby must check such fields. */
static bool affects_framing(int kind) {
    return kind == FIELD_HOST || kind == FIELD_CONTENT_LENGTH || kind == FIELD_CONNECTION ||
           kind == FIELD_EXPECT || kind == FIELD_RESERVED;
}

static int take_header(VALUE name, VALUE value, VALUE argument) {
    field_list *l = (field_list *)argument;
    request_field f = {.group = GROUP_CALL};
    if (!take_name(&f, name) || affects_framing(f.kind) || !take_value(l, &f, value)) {
        l->unusual = true;
        return ST_STOP;
    }
    if (!l->skips_type || f.kind != FIELD_CONTENT_TYPE) list_add(l, f);
    return ST_CONTINUE;
}

/* Adds a field that Ruby has checked. */
void list_pair(field_list *l, VALUE name, VALUE value) {
    request_field f = {.group = GROUP_CALL};
    if (!take_name(&f, name) || (!NIL_P(value) && !RB_TYPE_P(value, T_STRING)))
        errors_invalid("headers: the name %+" PRIsVALUE " is not a token (RFC 9110 5.1)", name);
    if (!NIL_P(value)) {
        f.value = RSTRING_PTR(value);
        f.value_length = (uint32_t)RSTRING_LEN(value);
    }
    if (!NIL_P(value) && !http1_value_valid(f.value, f.value_length)) {
        errors_invalid("headers: the value of %" PRIsVALUE
                       " holds CR, LF, NUL or another control character",
                       name);
    }
    if (!l->skips_type || f.kind != FIELD_CONTENT_TYPE) list_add(l, f);
}

static void list_client(field_list *l, const builder *b, bool bound) {
    uint32_t count = bound ? b->field_count : b->unbound_count;
    for (uint32_t i = 0; i < count; i++) list_add(l, b->fields[i].field);
}

static bool named_by_client(const builder *b, const request_field *f) {
    for (uint32_t i = 0; i < b->field_count; i++)
        if (b->fields[i].own && field_same_name(&b->fields[i].field, f)) return true;
    return false;
}

#define JSON "application/json"

/* Adds the fields that follow from the content, unless the user of the client has set them. */
static void list_content(field_list *l, const building *g) {
    request_field type = {.name = "Content-Type", .name_length = 12, .group = GROUP_CONTENT};
    request_field accept = {.name = "Accept", .name_length = 6, .group = GROUP_CONTENT};
    if (g->is_json) {
        type.value = accept.value = JSON;
        type.value_length = accept.value_length = sizeof(JSON) - 1;
    } else if (!NIL_P(g->content_type)) {
        type.value = RSTRING_PTR(g->content_type);
        type.value_length = (uint32_t)RSTRING_LEN(g->content_type);
    }
    if (type.value != NULL && (g->is_multipart || !named_by_client(g->b, &type))) list_add(l, type);
    if (g->is_json && !named_by_client(g->b, &accept)) list_add(l, accept);
}

void list_pairs(field_list *l, VALUE pairs) {
    for (long i = 0; i < RARRAY_LEN(pairs); i++) {
        VALUE pair = RARRAY_AREF(pairs, i);
        list_pair(l, rb_ary_entry(pair, 0), rb_ary_entry(pair, 1));
    }
}

static void list_call(field_list *l, const building *g, VALUE checked) {
    if (!NIL_P(checked))
        list_pairs(l, checked);
    else if (g->headers != Qundef)
        rb_hash_foreach(g->headers, take_header, (VALUE)l);
}

void list_fields(field_list *l, const building *g, VALUE checked) {
    const origin_object *o = origin_get(g->origin);
    VALUE by_url = !NIL_P(g->userinfo) ? g->userinfo : o->authorization;
    l->count = l->numbers = 0;
    l->unusual = false;
    l->skips_type = g->is_multipart;
    list_client(l, g->b, o->bound_fields || !GUARD(BOUND_CREDENTIALS));
    if (!NIL_P(by_url)) list_text(l, GROUP_URL, "Authorization", by_url);
    list_content(l, g);
    list_call(l, g, checked);
    if (!NIL_P(g->authorization))
        list_text(l, GROUP_CREDENTIALS, "Authorization", g->authorization);
}

#include "request.h"

#include "protocol/http1/http1.h"

#include <string.h>

/* Trunkline::Request: a request as it is sent. Ruby methods read its target and fields from the
 * composed head. */

static VALUE cRequest;
static ID id_at_target, id_next_chunk, id_release;

/* ---- the object ---- */

/* Pins all objects, because the exchange points into the content. Pinning is not enough for an
 * embedded String: see request_content_bytes. */
static void request_mark(void *data) {
    const request_object *r = data;
    if (r == NULL) return;
    rb_gc_mark(r->origin);
    rb_gc_mark(r->builder);
    rb_gc_mark(r->method);
    rb_gc_mark(r->uri);
    rb_gc_mark(r->content);
    rb_gc_mark(r->follow);
    rb_gc_mark(r->early_hints);
    rb_gc_mark(r->progress);
    rb_gc_mark(r->template);
}

static bool head_is_apart(const request_object *r) {
    return r->head != NULL && r->head != (const char *)(r + 1);
}

static void request_free(void *data) {
    request_object *r = data;
    if (r == NULL) return;
    if (head_is_apart(r)) free(r->head);
    free(r->content_bytes);
    block_give(BLOCK_REQUEST, r);
}

static size_t request_size(const void *data) {
    const request_object *r = data;
    return r == NULL ? 0 : REQUEST_BYTES + (head_is_apart(r) ? r->head_length : 0);
}

static const rb_data_type_t request_type = {
    .wrap_struct_name = "Trunkline::Request",
    .function = {.dmark = request_mark, .dfree = request_free, .dsize = request_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE request_s_allocate(VALUE class) {
    VALUE self = TypedData_Wrap_Struct(class, &request_type, NULL);
    request_object *r = block_take(BLOCK_REQUEST);
    if (r == NULL) rb_memerror();
    memset(r, 0, sizeof(*r));
    r->origin = r->builder = r->method = r->uri = r->content = r->early_hints = r->progress =
        r->template = Qnil;
    r->follow = Qfalse;
    RTYPEDDATA_DATA(self) = r;
    return self;
}

VALUE request_allocate(request_object **out) {
    VALUE self = request_s_allocate(cRequest);
    *out = RTYPEDDATA_DATA(self);
    return self;
}

request_object *request_get(VALUE object) {
    return engine_data(object, &request_type);
}

static request_object *request_complete(VALUE self) {
    request_object *r = request_get(self);
    if (r->head == NULL) rb_raise(rb_eArgError, "the request was not composed");
    return r;
}

request_object *request_sendable(VALUE object) {
    request_object *r = request_complete(object);
    if (NIL_P(r->origin))
        rb_raise(rb_eArgError, "a request that no client has made cannot be sent");
    return r;
}

const char *request_content_bytes(request_object *r) {
    const char *bytes = RSTRING_PTR(r->content);
    size_t length = (size_t)RSTRING_LEN(r->content);
    if (RB_FL_TEST_RAW(r->content, RSTRING_NOEMBED)) return bytes;
    if (r->content_bytes == NULL) {
        r->content_bytes = malloc(length + 1);
        if (r->content_bytes == NULL) rb_memerror();
        memcpy(r->content_bytes, bytes, length);
    }
    return r->content_bytes;
}

/* ---- readers ---- */

/* Makes a String: UTF-8 if the bytes are valid, else binary. */
static VALUE text_of(const char *bytes, size_t length) {
    VALUE string = rb_utf8_str_new(bytes, (long)length);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN)
        rb_enc_associate(string, rb_ascii8bit_encoding());
    return rb_obj_freeze(string);
}

static VALUE request_method(VALUE self) {
    return request_complete(self)->method;
}

static VALUE request_target(VALUE self) {
    const request_object *r = request_complete(self);
    if (r->target_length == 0 && !NIL_P(r->origin)) return text_of("*", 1);
    return text_of(r->head + r->target, r->target_length);
}

/* call-seq: uri -> URL */
static VALUE request_uri(VALUE self) {
    request_object *r = request_complete(self);
    if (NIL_P(r->uri)) {
        VALUE root = origin_get(r->origin)->url;
        RB_OBJ_WRITE(self, &r->uri, rb_funcall(root, id_at_target, 1, request_target(self)));
    }
    return r->uri;
}

typedef struct {
    const char *name, *value;
    size_t length, value_length;
} head_field;

/* Reads the field at *at and moves *at past it. Returns false at `end`. */
static bool next_field(const char **at, const char *end, head_field *out) {
    if (*at >= end) return false;
    const char *line_end = memchr(*at, '\r', (size_t)(end - *at));
    const char *colon = memchr(*at, ':', (size_t)(line_end - *at));
    const char *value = colon + 2;
    *out = (head_field){*at, value, (size_t)(colon - *at), (size_t)(line_end - value)};
    *at = line_end + 2;
    return true;
}

/* call-seq: _fields -> [[name, value], ...], without the fields for a proxy */
static VALUE request_fields(VALUE self) {
    const request_object *r = request_complete(self);
    VALUE pairs = rb_ary_new();
    const char *at = r->head + r->fields, *end = r->head + r->fields_end;
    for (head_field field; next_field(&at, end, &field);)
        rb_ary_push(pairs, rb_assoc_new(text_of(field.name, field.length),
                                        text_of(field.value, field.value_length)));
    RB_GC_GUARD(self);
    return pairs;
}

/* call-seq: _field_lines -> String, the bytes of the same fields */
static VALUE request_field_lines(VALUE self) {
    const request_object *r = request_complete(self);
    return rb_obj_freeze(rb_str_new(r->head + r->fields, (long)(r->fields_end - r->fields)));
}

/* call-seq: _fields_by_name -> Hash of the same values by name in lower case, as a Response's */
static VALUE request_fields_by_name(VALUE self) {
    const request_object *r = request_complete(self);
    VALUE hash = rb_hash_new();
    const char *at = r->head + r->fields, *end = r->head + r->fields_end;
    for (head_field field; next_field(&at, end, &field);)
        fields_by_name_add(hash, lower_name((const uint8_t *)field.name, (uint32_t)field.length),
                           text_of(field.value, field.value_length));
    RB_GC_GUARD(self);
    return hash;
}

static VALUE request_origin(VALUE self) {
    return request_complete(self)->origin;
}

static VALUE request_builder(VALUE self) {
    return request_complete(self)->builder;
}

static VALUE request_content(VALUE self) {
    return request_complete(self)->content;
}

static VALUE request_content_length(VALUE self) {
    return LL2NUM(request_complete(self)->content_length);
}

static VALUE request_follow(VALUE self) {
    return request_complete(self)->follow;
}

static VALUE request_template(VALUE self) {
    return request_complete(self)->template;
}

static VALUE request_progress(VALUE self) {
    return request_complete(self)->progress;
}

static VALUE request_streaming_p(VALUE self) {
    return request_complete(self)->streaming ? Qtrue : Qfalse;
}

/* call-seq: release -> nil
 *
 * Closes the files that the content has opened itself. */
static VALUE request_release(VALUE self) {
    VALUE content = request_get(self)->content;
    bool text = RB_TYPE_P(content, T_STRING);
    return NIL_P(content) || text ? Qnil : rb_check_funcall(content, id_release, 0, NULL);
}

/* call-seq: plain? -> whether the request follows no redirect, its response is not streamed, and
 * its content needs no release */
static VALUE request_plain_p(VALUE self) {
    const request_object *r = request_complete(self);
    bool text = NIL_P(r->content) || RB_TYPE_P(r->content, T_STRING);
    return text && !r->streaming && !RTEST(r->follow) ? Qtrue : Qfalse;
}

/* ---- copies, and requests without a client ---- */

static void copy_head(request_object *to, const request_object *from) {
    char *copy = (char *)(to + 1);
    if (head_is_apart(from) && (copy = malloc(from->head_length)) == NULL) rb_memerror();
    memcpy(copy, from->head, from->head_length);
    to->head = copy;
    to->head_length = from->head_length;
    to->target = from->target;
    to->target_length = from->target_length;
    to->fields = from->fields;
    to->fields_end = from->fields_end;
    to->content_length = from->content_length;
    to->streaming = from->streaming;
    to->head_method = from->head_method;
    to->safe_method = from->safe_method;
    to->sends_close = from->sends_close;
    to->upgrades = from->upgrades;
    to->expects = from->expects;
}

/* call-seq: _with(content, streaming) -> Request
 *
 * Returns a copy of the request with other content, which must have the same length, and with its
 * response streamed or not. */
static VALUE request_with(VALUE self, VALUE content, VALUE streaming) {
    const request_object *from = request_complete(self);
    if (RB_TYPE_P(content, T_STRING))
        content = rb_str_new_frozen(content);
    else if (!NIL_P(content) && !rb_respond_to(content, id_next_chunk))
        rb_raise(rb_eTypeError, "content: must be nil, a String, or have #next_chunk");
    request_object *to;
    VALUE copy = request_allocate(&to);
    copy_head(to, from);
    to->streaming = RTEST(streaming);
    RB_OBJ_WRITE(copy, &to->origin, from->origin);
    RB_OBJ_WRITE(copy, &to->builder, from->builder);
    RB_OBJ_WRITE(copy, &to->method, from->method);
    RB_OBJ_WRITE(copy, &to->uri, from->uri);
    RB_OBJ_WRITE(copy, &to->content, content);
    RB_OBJ_WRITE(copy, &to->follow, from->follow);
    RB_OBJ_WRITE(copy, &to->early_hints, from->early_hints);
    if (!NIL_P(content)) RB_OBJ_WRITE(copy, &to->progress, from->progress);
    RB_OBJ_WRITE(copy, &to->template, from->template);
    RB_GC_GUARD(self);
    return rb_obj_freeze(copy);
}

/* Returns the names and values in `flat` as the field lines of a head. */
static VALUE lines_of(VALUE flat) {
    VALUE lines = rb_str_new(NULL, 0);
    for (long i = 0; i + 1 < RARRAY_LEN(flat); i += 2) {
        VALUE name = rb_ary_entry(flat, i), value = rb_ary_entry(flat, i + 1);
        StringValue(name);
        StringValue(value);
        if (!http1_name_valid(RSTRING_PTR(name), (size_t)RSTRING_LEN(name)) ||
            !http1_value_valid(RSTRING_PTR(value), (size_t)RSTRING_LEN(value)))
            errors_invalid("headers: a name or value cannot be sent (RFC 9110 5.1, 5.5)");
        rb_str_append(lines, name);
        rb_str_cat_cstr(lines, ": ");
        rb_str_append(lines, value);
        rb_str_cat_cstr(lines, "\r\n");
    }
    return lines;
}

/* call-seq: Request.new(method, uri, fields, body = nil) */
static VALUE request_initialize(int argc, VALUE *argv, VALUE self) {
    VALUE method, uri, flat, body;
    request_object *r = request_get(self);
    rb_scan_args(argc, argv, "31", &method, &uri, &flat, &body);
    rb_check_frozen(self);
    Check_Type(method, T_STRING);
    Check_Type(flat, T_ARRAY);
    VALUE lines = lines_of(flat);
    char *head = malloc((size_t)RSTRING_LEN(lines) + 1);
    if (head == NULL) rb_memerror();
    memcpy(head, RSTRING_PTR(lines), (size_t)RSTRING_LEN(lines));
    if (head_is_apart(r)) free(r->head);
    r->head = head;
    r->head_length = r->fields_end = (uint32_t)RSTRING_LEN(lines);
    RB_OBJ_WRITE(self, &r->method, rb_str_new_frozen(method));
    RB_OBJ_WRITE(self, &r->uri, uri);
    RB_OBJ_WRITE(self, &r->content, body);
    RB_GC_GUARD(lines);
    return rb_obj_freeze(self);
}

void request_init(void) {
    id_at_target = rb_intern("at_target");
    id_next_chunk = rb_intern("next_chunk");
    id_release = rb_intern("release");
    cRequest = rb_define_class_under(mTrunkline, "Request", rb_cObject);
    rb_gc_register_mark_object(cRequest);
    rb_define_alloc_func(cRequest, request_s_allocate);
    rb_undef_method(cRequest, "initialize_copy");
    rb_define_method(cRequest, "initialize", request_initialize, -1);
    rb_define_method(cRequest, "method", request_method, 0);
    rb_define_method(cRequest, "uri", request_uri, 0);
    rb_define_method(cRequest, "target", request_target, 0);
    rb_define_method(cRequest, "origin", request_origin, 0);
    rb_define_method(cRequest, "builder", request_builder, 0);
    rb_define_method(cRequest, "content", request_content, 0);
    rb_define_method(cRequest, "content_length", request_content_length, 0);
    rb_define_method(cRequest, "follow", request_follow, 0);
    rb_define_method(cRequest, "template", request_template, 0);
    rb_define_method(cRequest, "progress", request_progress, 0);
    rb_define_method(cRequest, "streaming?", request_streaming_p, 0);
    rb_define_method(cRequest, "plain?", request_plain_p, 0);
    rb_define_method(cRequest, "release", request_release, 0);
    rb_define_method(cRequest, "_with", request_with, 2);
    rb_define_private_method(cRequest, "_fields", request_fields, 0);
    rb_define_method(cRequest, "_field_lines", request_field_lines, 0);
    rb_define_method(cRequest, "_fields_by_name", request_fields_by_name, 0);
}

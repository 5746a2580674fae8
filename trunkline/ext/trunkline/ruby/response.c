#include "engine.h"

#include "protocol/http1/http1_table.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* ---- the object ---- */

/* Pins all objects, because the exchange points into the body. */
static void response_mark(void *data) {
    response *r = data;
    if (r == NULL) return;
    rb_gc_mark(r->request);
    rb_gc_mark(r->into);
    rb_gc_mark(r->body);
    rb_gc_mark(r->held);
}

/* Notes of responses that were garbage collected half read. Used only with the GVL. */
static drop_note *dropped; /* owned */

/* A response that is collected half read closes its connection. */
static void response_free(void *data) {
    response *r = data;
    if (r == NULL) return;
    if (r->live != NULL && r->note != NULL) {
        r->note->next = dropped;
        dropped = r->note;
    } else {
        free(r->note);
    }
    exchange_free(r->live);
    free(r->head_block);
    free(r->trailer_bytes);
    free(r->trailers);
    hints_free(r->early_hints);
    free(r->broken);
    block_give(BLOCK_RESPONSE, r);
}

static size_t response_size(const void *data) {
    const response *r = data;
    if (r == NULL) return 0;
    size_t size = RESPONSE_BYTES;
    size += ((r->head_block ? r->field_count : 0) + r->trailer_count) * sizeof(http1_field);
    if (r->live != NULL)
        size += sizeof(*r->live) + r->live->input.capacity + r->live->body.capacity;
    return size;
}

static const rb_data_type_t response_type = {
    .wrap_struct_name = "Trunkline::Response",
    .function = {.dmark = response_mark, .dfree = response_free, .dsize = response_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

VALUE response_allocate(response **out) {
    VALUE self = TypedData_Wrap_Struct(cResponse, &response_type, NULL);
    response *r = block_take(BLOCK_RESPONSE);
    if (r == NULL) rb_memerror();
    memset(r, 0, offsetof(response, attempts));
    r->request = r->into = r->body = r->held = Qnil;
    r->encoding = ENCODING_NOT_LOOKED_UP;
    RTYPEDDATA_DATA(self) = *out = r;
    return self;
}

response *response_get(VALUE object) {
    return engine_data(object, &response_type);
}

/* ---- head and trailers ---- */

bool response_keep_head(response *r, const http1_response *parser, const uint8_t *bytes) {
    size_t fields_size = parser->field_count * sizeof(http1_field);
    size_t size = fields_size + parser->head_length;
    uint8_t *block = size <= RESPONSE_BYTES - sizeof(*r) ? (uint8_t *)(r + 1) : malloc(size);
    if (block == NULL) return false;
    r->head_block = block == (uint8_t *)(r + 1) ? NULL : block;
    if (fields_size > 0) memcpy(block, parser->fields, fields_size);
    memcpy(block + fields_size, bytes, parser->head_length);
    r->fields = (const http1_field *)(void *)block;
    r->field_count = parser->field_count;
    r->head = block + fields_size;
    r->status = parser->status;
    r->minor_version = parser->minor_version;
    r->reason = parser->reason;
    r->reason_length = parser->reason_length;
    r->framing = parser->framing;
    return true;
}

static bool is_ascii(const uint8_t *bytes, uint32_t length) {
    const uint64_t highs = UINT64_MAX / 255 * 0x80;
    uint32_t at = 0;
    for (uint64_t eight; at + sizeof(eight) <= length; at += sizeof(eight)) {
        memcpy(&eight, bytes + at, sizeof(eight));
        if (eight & highs) return false;
    }
    while (at < length && bytes[at] < 0x80) at++;
    return at == length;
}

/* Makes a String: US-ASCII if all bytes are, else binary. (rb_usascii_str_new does not check.) */
static VALUE text_of(const uint8_t *bytes, uint32_t length) {
    const char *text = (const char *)bytes;
    return is_ascii(bytes, length) ? rb_usascii_str_new(text, length) : rb_str_new(text, length);
}

static VALUE value_of(const http1_field *field, const uint8_t *bytes) {
    return text_of(bytes + field->value, field->value_length);
}

VALUE response_fields(const http1_field *fields, uint32_t count, const uint8_t *bytes) {
    VALUE array = rb_ary_new_capa(count);
    for (uint32_t i = 0; i < count; i++) {
        VALUE name = text_of(bytes + fields[i].name, fields[i].name_length);
        rb_ary_push(array, rb_assoc_new(name, value_of(&fields[i], bytes)));
    }
    return array;
}

/* Returns whether the field has this name. `underscores`: `name` is a Symbol's text, in which "_"
 * means "-". */
static bool named(const http1_field *field, const uint8_t *bytes, const char *name, size_t length,
                  bool underscores) {
    if (field->name_length != length) return false;
    const uint8_t *known = bytes + field->name;
    for (size_t i = 0; underscores && i < length; i++) {
        uint8_t wanted = name[i] == '_' ? '-' : (uint8_t)name[i];
        if (http1_lower(known[i]) != http1_lower(wanted)) return false;
    }
    return underscores || http1_same(known, length, name, length);
}

/* call-seq: response[name] -> String or nil; repeated fields are joined by ", " (RFC 9110 5.2).
 * :content_type is "content-type", as for Headers. */
static VALUE response_aref(VALUE self, VALUE name) {
    const response *r = response_get(self);
    bool underscores = SYMBOL_P(name);
    VALUE text = underscores ? rb_sym2str(name) : name;
    StringValue(text);
    VALUE found = Qnil;
    for (uint32_t i = 0; i < r->field_count; i++) {
        if (!named(&r->fields[i], r->head, RSTRING_PTR(text), (size_t)RSTRING_LEN(text),
                   underscores))
            continue;
        VALUE value = value_of(&r->fields[i], r->head);
        if (NIL_P(found)) {
            found = value;
        } else {
            rb_str_cat_cstr(found, ", ");
            rb_str_append(found, value);
        }
    }
    RB_GC_GUARD(text);
    return found;
}

static VALUE response_status(VALUE self) {
    return INT2FIX(response_get(self)->status);
}

static VALUE response_reason(VALUE self) {
    const response *r = response_get(self);
    return text_of(r->head + r->reason, r->reason_length);
}

/* Returns nil when the status line ends after the code, and for HTTP/2; "" when only a space
 * follows the code (RFC 9112 4). */
static VALUE response_given_reason(VALUE self) {
    const response *r = response_get(self);
    bool given = r->reason_length > 0 || (r->reason > 0 && r->head[r->reason - 1] == ' ');
    return given ? response_reason(self) : Qnil;
}

/* nil for HTTP/2 */
static VALUE response_minor_version(VALUE self) {
    const response *r = response_get(self);
    return r->http2 ? Qnil : INT2FIX(r->minor_version);
}

static VALUE response_all_fields(VALUE self) {
    const response *r = response_get(self);
    return response_fields(r->fields, r->field_count, r->head);
}

#define USUAL_NAME 64

/* Interns the name, because most responses have the same names. */
VALUE lower_name(const uint8_t *name, uint32_t length) {
    char lower[USUAL_NAME];
    if (length > USUAL_NAME)
        return rb_str_to_interned_str(rb_funcall(text_of(name, length), rb_intern("downcase"), 0));
    for (uint32_t i = 0; i < length; i++) lower[i] = (char)http1_lower(name[i]);
    return rb_interned_str(lower, length);
}

void fields_by_name_add(VALUE hash, VALUE lower, VALUE given) {
    VALUE value = given, before = rb_hash_lookup(hash, lower);
    if (!NIL_P(before)) {
        before = rb_str_cat(rb_str_dup(before), ", ", 2);
        bool compatible = rb_enc_compatible(before, given) != NULL;
        value = compatible ? rb_str_append(before, given)
                           : rb_str_cat(before, RSTRING_PTR(given), RSTRING_LEN(given));
        if (!compatible) rb_enc_associate(value, rb_ascii8bit_encoding());
    }
    rb_hash_aset(hash, lower, value);
    RB_GC_GUARD(given);
}

/* call-seq: _fields_by_name -> Hash of values by name in lower case; repeated fields are joined by
 * ", " (RFC 9110 5.2) */
static VALUE response_fields_by_name(VALUE self) {
    const response *r = response_get(self);
    VALUE hash = rb_hash_new();
    for (uint32_t i = 0; i < r->field_count; i++) {
        const http1_field *field = &r->fields[i];
        fields_by_name_add(hash, lower_name(r->head + field->name, field->name_length),
                           value_of(field, r->head));
    }
    RB_GC_GUARD(self);
    return hash;
}

static VALUE response_trailers(VALUE self) {
    const response *r = response_get(self);
    return response_fields(r->trailers, r->trailer_count, r->trailer_bytes);
}

static VALUE response_early_hints(VALUE self) {
    const response *r = response_get(self);
    VALUE array = rb_ary_new();
    for (const hint *h = r->live ? r->live->hints : r->early_hints; h != NULL; h = h->next)
        rb_ary_push(array, response_fields(h->fields, h->field_count, h->bytes));
    return array;
}

/* ---- body ---- */

static const char *skip_to(const char *at, const char *end, char wanted) {
    while (at < end && *at != wanted) at++;
    return at;
}

/* Finds the charset among the parameters of a Content-Type, which begin at `at` with ";" (RFC 9110
 * 8.3.2). Stores its beginning in *start and returns its length; 0: none. */
static size_t charset_of(const char *at, const char *end, const char **start) {
    for (; at < end; at = skip_to(at, end, ';')) {
        at++;
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        if (end - at > 8 && strncasecmp(at, "charset=", 8) == 0) {
            at += 8;
            bool quoted = *at == '"';
            *start = at + quoted;
            const char *stop = skip_to(*start, end, quoted ? '"' : ';');
            while (!quoted && stop > *start && (stop[-1] == ' ' || stop[-1] == '\t')) stop--;
            return (size_t)(stop - *start);
        }
    }
    return 0;
}

/* Returns whether the media type is UTF-8 without a charset: JSON (RFC 8259 8.1), any type with
 * +json, streams of JSON, and event streams (HTML 9.2.5). */
static bool utf8_type(const char *value, size_t length) {
#define OF_LENGTH(name) \
    { name, sizeof(name) - 1 }
    static const struct {
        const char *name;
        size_t length;
    } types[] = {
        OF_LENGTH("application/json"),       OF_LENGTH("application/x-ndjson"),
        OF_LENGTH("application/ndjson"),     OF_LENGTH("application/jsonl"),
        OF_LENGTH("application/jsonlines"),  OF_LENGTH("application/x-jsonlines"),
        OF_LENGTH("application/json-lines"), OF_LENGTH("application/json-seq"),
        OF_LENGTH("text/event-stream"),
    };
#undef OF_LENGTH
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) length--;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (http1_same((const uint8_t *)value, length, types[i].name, types[i].length)) return true;
    const char *suffix = value + length - 5;
    return length > 5 && *suffix == '+' && strncasecmp(suffix, "+json", 5) == 0;
}

static int encoding_of_type(const response *r) {
    const http1_field *type = http1_find(r->fields, r->field_count, r->head, "Content-Type", 12);
    if (type == NULL) return -1;
    const char *value = (const char *)r->head + type->value, *end = value + type->value_length;
    const char *parameters = skip_to(value, end, ';'), *charset = NULL;
    size_t length = charset_of(parameters, end, &charset);
    if (length > 0) return charset_index(charset, length);
    return utf8_type(value, (size_t)(parameters - value)) ? rb_utf8_encindex() : -1;
}

int response_encoding(response *r) {
    if (r->encoding == ENCODING_NOT_LOOKED_UP) r->encoding = encoding_of_type(r);
    return r->encoding;
}

void response_set_encoding(response *r, VALUE body) {
    int index = response_encoding(r);
    if (index >= 0) rb_enc_associate_index(body, index);
}

/* call-seq: _whole_characters(chunk) -> Integer
 *
 * Sets a chunk's encoding to the body's, and returns how many of its bytes are complete characters.
 * When no encoding is known, or it is a dummy encoding such as ISO-2022-JP, all bytes count, and
 * the chunk's encoding is not changed. */
static VALUE response_whole_characters(VALUE self, VALUE chunk) {
    Check_Type(chunk, T_STRING);
    int index = response_encoding(response_get(self));
    rb_encoding *encoding = index < 0 ? NULL : rb_enc_from_index(index);
    long length = RSTRING_LEN(chunk);
    if (encoding != NULL && !rb_enc_dummy_p(encoding)) {
        rb_enc_associate_index(chunk, index);
        length = charset_complete_length(RSTRING_PTR(chunk), length, encoding);
    }
    return LONG2NUM(length);
}

/* call-seq: _asked_at(caller_line) -> nil */
static VALUE response_asked_at(VALUE self, VALUE caller_line) {
    response *r = response_get(self);
    size_t size = strlen(StringValueCStr(caller_line)) + 1;
    if (r->note == NULL && (r->note = malloc(sizeof(*r->note) + size)) != NULL)
        memcpy(r->note->caller_line, RSTRING_PTR(caller_line), size);
    return Qnil;
}

static VALUE warn_of(VALUE caller_line) {
    VALUE text =
        rb_sprintf("%" PRIsVALUE ": an answer with stream: true was dropped before its end, "
                   "and held its connection until it was collected: read all of it, or "
                   "close it",
                   caller_line);
    return rb_funcall(rb_mKernel, rb_intern("warn"), 1, text);
}

static VALUE warning_failed(VALUE unused, VALUE error) {
    (void)unused, (void)error;
    return Qnil;
}

/* Rescues exceptions, because a program may turn warnings into them, and the current call is not
 * the cause of the warning. */
void response_warn_of_dropped(void) {
    while (dropped != NULL) {
        drop_note *note = dropped;
        dropped = note->next;
        VALUE caller_line = rb_str_new_cstr(note->caller_line);
        free(note);
        rb_rescue2(warn_of, caller_line, warning_failed, Qnil, rb_eStandardError, (VALUE)0);
    }
}

static VALUE response_complete_p(VALUE self) {
    return response_get(self)->complete ? Qtrue : Qfalse;
}

static VALUE response_length_unknown_p(VALUE self) {
    return response_get(self)->framing == HTTP1_FRAMING_CLOSE ? Qtrue : Qfalse;
}

static VALUE response_request(VALUE self) {
    return response_get(self)->request;
}

/* ---- facts ---- */

/* Facts are in the exchange until that is over, and in the response after that. */
#define METADATA(r, name) ((r)->live ? (r)->live->name : (r)->name)

VALUE response_attempts(const attempt *attempts, uint32_t count) {
    static const char *const reasons[] = {"first", "moved", "replayed"};
    VALUE array = rb_ary_new_capa(count);
    for (uint32_t i = 0; i < count; i++) {
        const attempt *a = &attempts[i];
        VALUE address = a->address[0] ? rb_utf8_str_new_cstr(a->address) : Qnil;
        VALUE error = a->code == FAILURE_NONE ? Qnil : rb_utf8_str_new_cstr(failure_class(a->code));
        rb_ary_push(array,
                    rb_ary_new_from_args(5, UINT2NUM(i + 1), engine_symbol(reasons[a->reason]),
                                         address, engine_symbol(sent_word(a->sent)), error));
    }
    return array;
}

static VALUE response_timings(VALUE self) {
    const response *r = response_get(self);
    const exchange_timings *t = r->live ? &r->live->timings : &r->timings;
    return rb_ary_new_from_args(
        8, engine_seconds_or_nil(t->queue), engine_seconds_or_nil(t->resolve),
        engine_seconds_or_nil(t->connect), engine_seconds_or_nil(t->tls),
        engine_seconds_or_nil(t->write), engine_seconds_or_nil(t->first_byte),
        engine_seconds_or_nil(t->total), engine_seconds_or_nil(t->gvl));
}

/* call-seq: _began -> monotonic seconds, or nil for a response without a connection */
static VALUE response_began(VALUE self) {
    const response *r = response_get(self);
    nanoseconds began = METADATA(r, timings).began;
    return began > 0 ? DBL2NUM((double)began / 1e9) : Qnil;
}

static VALUE text_or_nil(const char *text) {
    return text && text[0] ? rb_utf8_str_new_cstr(text) : Qnil;
}

static VALUE response_connection(VALUE self) {
    const response *r = response_get(self);
    uint32_t count = METADATA(r, attempt_count);
    const attempt *attempts = METADATA(r, attempts);
    VALUE hash = rb_hash_new();
#define PUT(key, value) rb_hash_aset(hash, ID2SYM(rb_intern(key)), value)
    PUT("id", ULL2NUM(METADATA(r, connection_id)));
    PUT("reused", METADATA(r, reused) ? Qtrue : Qfalse);
    PUT("age", engine_seconds_or_nil(METADATA(r, connection_age)));
    PUT("address", count > 0 ? text_or_nil(attempts[count - 1].address) : Qnil);
    PUT("tls_version", text_or_nil(METADATA(r, tls_version)));
    PUT("cipher", text_or_nil(METADATA(r, tls_cipher)));
#undef PUT
    return hash;
}

static VALUE response_all_attempts(VALUE self) {
    const response *r = response_get(self);
    return response_attempts(METADATA(r, attempts), METADATA(r, attempt_count));
}

/* call-seq: _body_begun? -> whether the server may have received a part of the request's body */
static VALUE response_body_begun_p(VALUE self) {
    const response *r = response_get(self);
    return METADATA(r, body_begun) ? Qtrue : Qfalse;
}

void response_init(void) {
    rb_undef_alloc_func(cResponse);
    rb_define_method(cResponse, "status", response_status, 0);
    rb_define_method(cResponse, "reason", response_reason, 0);
    rb_define_method(cResponse, "_given_reason", response_given_reason, 0);
    rb_define_method(cResponse, "minor_version", response_minor_version, 0);
    rb_define_method(cResponse, "[]", response_aref, 1);
    rb_define_method(cResponse, "request", response_request, 0);
    rb_define_method(cResponse, "complete?", response_complete_p, 0);
    rb_define_method(cResponse, "length_unknown?", response_length_unknown_p, 0);
    rb_define_method(cResponse, "_body_begun?", response_body_begun_p, 0);
    rb_define_method(cResponse, "_fields", response_all_fields, 0);
    rb_define_method(cResponse, "_fields_by_name", response_fields_by_name, 0);
    rb_define_private_method(cResponse, "_trailers", response_trailers, 0);
    rb_define_private_method(cResponse, "_early_hints", response_early_hints, 0);
    rb_define_method(cResponse, "_asked_at", response_asked_at, 1);
    rb_define_private_method(cResponse, "_whole_characters", response_whole_characters, 1);
    rb_define_private_method(cResponse, "_timings", response_timings, 0);
    rb_define_private_method(cResponse, "_began", response_began, 0);
    rb_define_private_method(cResponse, "_connection", response_connection, 0);
    rb_define_private_method(cResponse, "_attempts", response_all_attempts, 0);
}

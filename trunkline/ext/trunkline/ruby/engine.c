#include "engine.h"

#include <string.h>

/* ---- Pool ---- */

static void pool_object_free(void *data) {
    if (data != NULL) {
        pool_release(data);
    }
}

static const rb_data_type_t pool_type = {
    .wrap_struct_name = "Trunkline::Engine::Pool",
    .function = {.dfree = pool_object_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

pool *pool_get(VALUE object) {
    pool *p = rb_check_typeddata(object, &pool_type);
    if (p == NULL) {
        rb_raise(rb_eArgError, "the pool was not initialized");
    }
    return p;
}

static VALUE pool_s_allocate(VALUE class) {
    return TypedData_Wrap_Struct(class, &pool_type, NULL);
}

/* call-seq: Pool.new(max_idle) */
static VALUE pool_initialize(VALUE self, VALUE max_idle) {
    uint32_t count = NUM2UINT(max_idle);
    if (RTYPEDDATA_DATA(self) == NULL) {
        RTYPEDDATA_DATA(self) = pool_new(count);
    }
    if (RTYPEDDATA_DATA(self) == NULL) {
        rb_memerror();
    }
    return self;
}

/* call-seq: stats -> Hash of counts */
static VALUE pool_stats_get(VALUE self) {
    pool_stats stats;
    pool_count(pool_get(self), &stats);
    VALUE hash = rb_hash_new();
#define COUNT(name) rb_hash_aset(hash, ID2SYM(rb_intern(#name)), ULL2NUM(stats.name))
    COUNT(connections);
    COUNT(idle);
    COUNT(in_use);
    COUNT(waiting);
    COUNT(opened);
    COUNT(reused);
    COUNT(closed);
#undef COUNT
    return hash;
}

/* call-seq: close_idle(owner) -> count; nil closes those of all owners */
static VALUE pool_close_idle_get(VALUE self, VALUE owner) {
    return UINT2NUM(pool_close_idle(pool_get(self), NIL_P(owner) ? 0 : NUM2ULL(owner)));
}

static VALUE pool_close_get(VALUE self) {
    pool_close(pool_get(self));
    return Qnil;
}

/* ---- Settings ---- */

typedef struct {
    settings how;
    tls_options tls; /* its strings are owned by this struct */
} settings_object;

static void settings_free(void *data) {
    settings_object *s = data;
    tls_context_release(s->how.tls);
    free((char *)s->tls.ca_file);
    free((char *)s->tls.ca_path);
    free((char *)s->tls.client_cert);
    free((char *)s->tls.client_key);
    free((char *)s->tls.keylog);
    ruby_xfree(s);
}

static size_t settings_size(const void *data) {
    (void)data;
    return sizeof(settings_object);
}

static const rb_data_type_t settings_type = {
    .wrap_struct_name = "Trunkline::Engine::Settings",
    .function = {.dfree = settings_free, .dsize = settings_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE settings_s_allocate(VALUE class) {
    settings_object *s;
    return TypedData_Make_Struct(class, settings_object, &settings_type, s);
}

static VALUE fetch(VALUE hash, const char *key) {
    return rb_hash_fetch(hash, ID2SYM(rb_intern(key)));
}

static nanoseconds span_of(VALUE seconds) {
    if (NIL_P(seconds)) {
        return NEVER;
    }
    double value = NUM2DBL(seconds) * (double)SECOND;
    return value >= (double)(NEVER / 2) ? NEVER : (nanoseconds)value;
}

static char *string_of(VALUE string) {
    if (NIL_P(string)) {
        return NULL;
    }
    char *copy = strdup(StringValueCStr(string));
    if (copy == NULL) {
        rb_memerror();
    }
    return copy;
}

static void fill_limits(settings *how, VALUE hash) {
    how->limits = http1_default_limits;
    how->limits.head_bytes = NUM2SIZET(fetch(hash, "max_header_bytes"));
    how->limits.fields = NUM2UINT(fetch(hash, "max_headers"));
    how->max_body_bytes = NUM2ULL(fetch(hash, "max_body_bytes"));
    how->inflate.output_bytes = how->max_body_bytes;
    how->inflate.ratio = NUM2UINT(fetch(hash, "max_decode_ratio"));
    how->max_connections = NUM2UINT(fetch(hash, "max_connections_per_host"));
    how->idle_timeout = span_of(fetch(hash, "idle_timeout"));
    how->decode = RTEST(fetch(hash, "decode"));
    how->replay_safe = RTEST(fetch(hash, "replay_safe"));
    how->owner = NUM2ULL(fetch(hash, "owner"));
}

static void fill_tls(tls_options *tls, VALUE hash) {
    tls->verify = RTEST(fetch(hash, "verify"));
    tls->ca_file = string_of(fetch(hash, "ca_file"));
    tls->ca_path = string_of(fetch(hash, "ca_path"));
    tls->client_cert = string_of(fetch(hash, "client_cert"));
    tls->client_key = string_of(fetch(hash, "client_key"));
    tls->keylog = string_of(fetch(hash, "keylog"));
    tls->min_version = NUM2INT(fetch(hash, "min_version"));
    tls->alpn = "http/1.1";
}

/* call-seq: Settings.new(hash); see lib/trunkline/engine.rb for its keys */
static VALUE settings_initialize(VALUE self, VALUE hash) {
    settings_object *s = rb_check_typeddata(self, &settings_type);
    rb_check_frozen(self);
    VALUE timeouts = fetch(hash, "timeouts");
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        s->how.timeouts[phase] = span_of(fetch(timeouts, phase_word(phase)));
    }
    s->how.total = span_of(fetch(hash, "total"));
    s->how.expect = span_of(fetch(hash, "expect"));
    fill_limits(&s->how, hash);
    fill_tls(&s->tls, fetch(hash, "tls"));
    return rb_obj_freeze(self);
}

typedef struct {
    const tls_options *options;
    tls_context *context;
    failure why;
} obtaining;

static void *obtain_nogvl(void *argument) {
    obtaining *o = argument;
    o->context = tls_context_obtain(o->options, &o->why);
    return NULL;
}

/* The TLS context is made when it is first needed, without the GVL: to read a bundle of
 * certificates takes tens of milliseconds. Two threads that come at once get the same one. */
static void settings_need_tls(settings_object *s) {
    if (s->how.tls != NULL) {
        return;
    }
    obtaining o = {.options = &s->tls};
    rb_thread_call_without_gvl(obtain_nogvl, &o, NULL, NULL);
    if (o.context == NULL) {
        errors_raise_failure(&o.why);
    }
    if (s->how.tls != NULL) {
        tls_context_release(o.context);
        return;
    }
    s->how.tls = o.context;
}

/* ---- Prepared ---- */

static void prepared_mark(void *data) {
    prepared *p = data;
    rb_gc_mark(p->settings);
}

static void prepared_free(void *data) {
    prepared *p = data;
    buffer_free(&p->head);
    free(p->strings);
    free(p->key);
    ruby_xfree(p);
}

static size_t prepared_size(const void *data) {
    const prepared *p = data;
    return sizeof(*p) + p->head.capacity + p->to.key_length * 2;
}

/* The settings are pinned (marked without moving), for `how` points into them. */
static const rb_data_type_t prepared_type = {
    .wrap_struct_name = "Trunkline::Engine::Prepared",
    .function = {.dmark = prepared_mark, .dfree = prepared_free, .dsize = prepared_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

prepared *prepared_get(VALUE object) {
    prepared *p = rb_check_typeddata(object, &prepared_type);
    if (p->how == NULL) {
        rb_raise(rb_eArgError, "the request was not prepared");
    }
    return p;
}

static VALUE prepared_s_allocate(VALUE class) {
    prepared *p;
    VALUE self = TypedData_Make_Struct(class, prepared, &prepared_type, p);
    p->settings = Qnil;
    return self;
}

static size_t place_length(VALUE string) {
    return NIL_P(string) ? 0 : strlen(StringValueCStr(string)) + 1;
}

static const char *place_string(char **at, VALUE string) {
    if (NIL_P(string)) {
        return NULL;
    }
    char *start = *at;
    size_t length = strlen(StringValueCStr(string)) + 1;
    memcpy(start, RSTRING_PTR(string), length);
    *at += length;
    return start;
}

/* FNV-1a: the key is short, and known to nobody who could choose it to collide. */
static uint32_t hash_of(const char *bytes, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)bytes[i]) * 16777619u;
    }
    return hash;
}

/* Where it goes, and the key: the TLS context's number, the name that is verified, and the address.
 */
static void fill_route(prepared *p, VALUE host, VALUE port, VALUE unix_path, VALUE tls_name,
                       VALUE label) {
    size_t total =
        place_length(host) + place_length(unix_path) + place_length(tls_name) + place_length(label);
    char *at = p->strings = malloc(total + 1);
    uint64_t context = p->how->tls && !NIL_P(tls_name) ? tls_context_id(p->how->tls) : 0;
    uint16_t number = (uint16_t)NUM2UINT(port);
    char *key = p->key = malloc(sizeof(context) + sizeof(number) + total + 3);
    if (at == NULL || key == NULL) {
        rb_memerror();
    }
    p->to.host = place_string(&at, host);
    p->to.port = number;
    p->to.unix_path = place_string(&at, unix_path);
    p->to.tls_name = place_string(&at, tls_name);
    p->to.label = place_string(&at, label);

    const char *parts[] = {p->to.unix_path ? p->to.unix_path : p->to.host, p->to.tls_name,
                           p->to.unix_path ? "u" : "t"};
    memcpy(key, &context, sizeof(context));
    memcpy(key + sizeof(context), &number, sizeof(number));
    size_t length = sizeof(context) + sizeof(number);
    for (int i = 0; i < 3; i++) {
        size_t part = parts[i] ? strlen(parts[i]) : 0;
        if (part > 0) {
            memcpy(key + length, parts[i], part);
        }
        length += part;
        key[length++] = '\0';
    }
    p->to.key = key;
    p->to.key_length = (uint32_t)length;
    p->to.key_hash = hash_of(key, length);
}

static void fill_head(prepared *p, VALUE method, VALUE target, VALUE fields) {
    long count = RARRAY_LEN(fields) / 2;
    VALUE scratch;
    http1_header *headers = ALLOCV_N(http1_header, scratch, count + 1);
    for (long i = 0; i < count; i++) {
        VALUE name = RARRAY_AREF(fields, 2 * i), value = RARRAY_AREF(fields, 2 * i + 1);
        Check_Type(name, T_STRING);
        Check_Type(value, T_STRING);
        headers[i] = (http1_header){RSTRING_PTR(name), (size_t)RSTRING_LEN(name),
                                    RSTRING_PTR(value), (size_t)RSTRING_LEN(value)};
        if (!http1_name_valid(headers[i].name, headers[i].name_length)) {
            errors_invalid("headers: the name %+" PRIsVALUE " is not a token (RFC 9110 5.1)", name);
        }
        if (!http1_value_valid(headers[i].value, headers[i].value_length)) {
            errors_invalid("headers: the value of %" PRIsVALUE
                           " holds CR, LF, NUL or another control character",
                           name);
        }
    }
    bool composed =
        http1_request(&p->head, RSTRING_PTR(method), (size_t)RSTRING_LEN(method),
                      RSTRING_PTR(target), (size_t)RSTRING_LEN(target), headers, (size_t)count);
    ALLOCV_END(scratch);
    RB_GC_GUARD(fields);
    if (!composed) {
        errors_invalid("method %+" PRIsVALUE " or target %+" PRIsVALUE " cannot be sent", method,
                       target);
    }
}

static bool method_is(VALUE method, const char *name) {
    return (size_t)RSTRING_LEN(method) == strlen(name) &&
           memcmp(RSTRING_PTR(method), name, strlen(name)) == 0;
}

/* call-seq: Prepared.new(settings, method, target, fields, host, port, unix_path, tls_name, label)
 */
static VALUE prepared_initialize(VALUE self, VALUE settings_value, VALUE method, VALUE target,
                                 VALUE fields, VALUE host, VALUE port, VALUE unix_path,
                                 VALUE tls_name, VALUE label) {
    rb_check_frozen(self);
    prepared *p = rb_check_typeddata(self, &prepared_type);
    settings_object *s = rb_check_typeddata(settings_value, &settings_type);
    Check_Type(method, T_STRING);
    Check_Type(target, T_STRING);
    Check_Type(fields, T_ARRAY);
    if (!NIL_P(tls_name)) {
        settings_need_tls(s);
    }
    fill_head(p, method, target, fields);
    p->head_method = method_is(method, "HEAD");
    p->safe_method = p->head_method || method_is(method, "GET") || method_is(method, "OPTIONS") ||
                     method_is(method, "TRACE");
    p->settings = settings_value;
    p->how = &s->how;
    fill_route(p, host, port, unix_path, tls_name, label);
    return rb_obj_freeze(self);
}

void engine_init(void) {
    VALUE cPool = rb_define_class_under(mEngine, "Pool", rb_cObject);
    rb_define_alloc_func(cPool, pool_s_allocate);
    rb_define_method(cPool, "initialize", pool_initialize, 1);
    rb_define_method(cPool, "stats", pool_stats_get, 0);
    rb_define_method(cPool, "close_idle", pool_close_idle_get, 1);
    rb_define_method(cPool, "close", pool_close_get, 0);

    VALUE cSettings = rb_define_class_under(mEngine, "Settings", rb_cObject);
    rb_define_alloc_func(cSettings, settings_s_allocate);
    rb_define_method(cSettings, "initialize", settings_initialize, 1);

    VALUE cPrepared = rb_define_class_under(mEngine, "Prepared", rb_cObject);
    rb_define_alloc_func(cPrepared, prepared_s_allocate);
    rb_define_method(cPrepared, "initialize", prepared_initialize, 9);

    rb_define_const(mEngine, "CODINGS", rb_obj_freeze(rb_utf8_str_new_cstr(inflater_accepts())));
}

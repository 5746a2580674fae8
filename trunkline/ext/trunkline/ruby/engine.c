#include "engine.h"

#include "transport/events/descriptors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    call_options how;
    tls_options tls;   /* its strings are owned by this struct */
    bool begun, ready; /* Settings.new was called; and it succeeded */
} settings_object;

static void settings_free(void *data) {
    settings_object *s = data;
    tls_context_release(s->how.tls);
    tls_context_release(s->how.proxy_tls);
    free((char *)s->tls.ca_file);
    free((char *)s->tls.ca_path);
    free((char *)s->tls.client_cert);
    free((char *)s->tls.client_key);
    free((char *)s->tls.ciphers);
    free((char *)s->tls.ciphersuites);
    free((char *)s->tls.keylog);
    openssl_store_release(s->tls.ca_store);
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

VALUE engine_fetch(VALUE hash, const char *key) {
    Check_Type(hash, T_HASH);
    return rb_hash_fetch(hash, ID2SYM(rb_intern(key)));
}

nanoseconds engine_seconds(VALUE seconds) {
    return NIL_P(seconds) ? NEVER : clock_span(NUM2DBL(seconds));
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

static void fill_limits(call_options *how, VALUE hash) {
    how->limits = http1_default_limits;
    how->limits.head_bytes = NUM2SIZET(engine_fetch(hash, "max_header_bytes"));
    how->limits.fields = NUM2UINT(engine_fetch(hash, "max_headers"));
    how->max_body_bytes = NUM2ULL(engine_fetch(hash, "max_body_bytes"));
    how->max_streamed_bytes = NUM2ULL(engine_fetch(hash, "max_streamed_bytes"));
    how->max_decode_ratio = NUM2UINT(engine_fetch(hash, "max_decode_ratio"));
    how->max_connections = NUM2UINT(engine_fetch(hash, "max_connections_per_host"));
    how->idle_timeout = engine_seconds(engine_fetch(hash, "idle_timeout"));
    VALUE max_age = engine_fetch(hash, "max_age");
    nanoseconds span = engine_seconds(max_age);
    how->max_age = NIL_P(max_age) ? 0 : span > 0 ? span : 1;
    how->decode = RTEST(engine_fetch(hash, "decode"));
    how->replay_safe = RTEST(engine_fetch(hash, "replay_safe"));
    how->owner = NUM2ULL(engine_fetch(hash, "owner"));
}

static void fill_tls(tls_options *tls, VALUE hash) {
    tls->verify = RTEST(engine_fetch(hash, "verify"));
    tls->ca_file = string_of(engine_fetch(hash, "ca_file"));
    tls->any_name = !RTEST(engine_fetch(hash, "verify_hostname"));
    tls->ca_path = string_of(engine_fetch(hash, "ca_path"));
    tls->ca_store = openssl_store_keep(engine_fetch(hash, "ca_store"));
    tls->client_cert = string_of(engine_fetch(hash, "client_cert"));
    tls->client_key = string_of(engine_fetch(hash, "client_key"));
    tls->keylog = string_of(engine_fetch(hash, "keylog"));
    tls->min_version = NUM2INT(engine_fetch(hash, "min_version"));
    tls->max_version = NUM2INT(engine_fetch(hash, "max_version"));
    tls->ciphers = string_of(engine_fetch(hash, "ciphers"));
    tls->ciphersuites = string_of(engine_fetch(hash, "ciphersuites"));
    VALUE depth = engine_fetch(hash, "verify_depth");
    tls->limit_depth = !NIL_P(depth);
    tls->verify_depth = NIL_P(depth) ? 0 : NUM2INT(depth);
}

/* What ALPN offers, so that contexts and connections of different modes are kept apart. */
static void fill_http(settings_object *s, VALUE mode) {
    static const char *const offers[] = {"h2,http/1.1", "http/1.1", "h2"};
    s->how.http = HTTP_AUTO;
    if (mode == ID2SYM(rb_intern("h1")) || !http2_available()) {
        s->how.http = HTTP_ONE;
    } else if (mode == ID2SYM(rb_intern("h2"))) {
        s->how.http = HTTP_TWO;
    }
    s->tls.alpn = offers[s->how.http];
}

/* An address of ours, to connect from. */
static void fill_local(socket_options *how, VALUE address) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)&how->local;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&how->local;
    if (NIL_P(address)) {
        return;
    }
    if (inet_pton(AF_INET, StringValueCStr(address), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        how->local_length = sizeof(*v4);
    } else if (inet_pton(AF_INET6, StringValueCStr(address), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        how->local_length = sizeof(*v6);
    } else {
        errors_invalid("bind: %+" PRIsVALUE " is no IP address", address);
    }
}

static void fill_sockets(socket_options *how, VALUE hash) {
    VALUE interface = engine_fetch(hash, "interface");
    fill_local(how, engine_fetch(hash, "address"));
    if (!NIL_P(interface)) {
        snprintf(how->interface, sizeof(how->interface), "%s", StringValueCStr(interface));
    }
    how->keepalive_idle = NUM2INT(engine_fetch(hash, "keepalive_idle"));
    how->keepalive_interval = NUM2INT(engine_fetch(hash, "keepalive_interval"));
    how->user_timeout = NUM2INT(engine_fetch(hash, "user_timeout"));
}

/* Where there is but one processor, the server can answer only while the call sleeps. */
static void fill_busy_poll(call_options *how, VALUE seconds) {
    how->busy_poll = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? engine_seconds(seconds) : 0;
}

/* What has failed halfway, or was frozen before, is of no use. */
static void refuse_again(VALUE self, bool *begun) {
    rb_check_frozen(self);
    if (*begun) {
        rb_raise(rb_eArgError, "the %" PRIsVALUE " is initialized already", rb_obj_class(self));
    }
    *begun = true;
}

/* call-seq: Settings.new(hash); see lib/trunkline/engine.rb for its keys */
static VALUE settings_initialize(VALUE self, VALUE hash) {
    settings_object *s = rb_check_typeddata(self, &settings_type);
    refuse_again(self, &s->begun);
    VALUE timeouts = engine_fetch(hash, "timeouts");
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        s->how.timeouts[phase] = engine_seconds(engine_fetch(timeouts, phase_word(phase)));
    }
    s->how.total = engine_seconds(engine_fetch(hash, "total"));
    s->how.expect = engine_seconds(engine_fetch(hash, "expect"));
    fill_busy_poll(&s->how, engine_fetch(hash, "busy_poll"));
    fill_limits(&s->how, hash);
    fill_tls(&s->tls, engine_fetch(hash, "tls"));
    fill_http(s, engine_fetch(hash, "http"));
    fill_sockets(&s->how.sockets, engine_fetch(hash, "sockets"));
    s->ready = true;
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

/* A TLS context is made when it is first needed, without the GVL: to read a bundle of certificates
 * takes tens of milliseconds. Two threads that come at once get the same one. */
static void need_context(struct tls_context **kept, const tls_options *options) {
    if (*kept != NULL) {
        return;
    }
    obtaining o = {.options = options};
    bool scarce;
    do {
        rb_thread_call_without_gvl(obtain_nogvl, &o, NULL, NULL);
        scarce = o.context == NULL && descriptors_exhausted();
    } while (scarce && pool_make_room());
    if (scarce) {
        failure_set(&o.why, FAILURE_CONNECT, PHASE_TLS, errno, "%s", strerror(errno));
    }
    if (o.context == NULL) {
        errors_raise_failure(&o.why, Qnil);
    }
    if (*kept != NULL) {
        tls_context_release(o.context);
        return;
    }
    *kept = o.context;
}

/* A proxy is spoken to in HTTP/1.1, and is not who the client's certificate was made for. */
static void need_proxy_context(settings_object *s) {
    tls_options options = s->tls;
    options.client_cert = options.client_key = NULL;
    options.alpn = "http/1.1";
    need_context(&s->how.proxy_tls, &options);
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
    buffer_free(&p->key);
    ruby_xfree(p);
}

static size_t prepared_size(const void *data) {
    const prepared *p = data;
    return sizeof(*p) + p->head.capacity + p->key.capacity * 2;
}

/* The settings are pinned (marked without moving), for `how` points into them. */
static const rb_data_type_t prepared_type = {
    .wrap_struct_name = "Trunkline::Engine::Prepared",
    .function = {.dmark = prepared_mark, .dfree = prepared_free, .dsize = prepared_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

prepared *prepared_get(VALUE object) {
    prepared *p = rb_check_typeddata(object, &prepared_type);
    if (!p->ready) {
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

static http1_header header_of(VALUE name, VALUE value) {
    Check_Type(name, T_STRING);
    Check_Type(value, T_STRING);
    http1_header header = {RSTRING_PTR(name), (size_t)RSTRING_LEN(name), RSTRING_PTR(value),
                           (size_t)RSTRING_LEN(value)};
    if (!http1_name_valid(header.name, header.name_length)) {
        errors_invalid("headers: the name %+" PRIsVALUE " is not a token (RFC 9110 5.1)", name);
    }
    if (!http1_value_valid(header.value, header.value_length)) {
        errors_invalid("headers: the value of %" PRIsVALUE
                       " holds CR, LF, NUL or another control character",
                       name);
    }
    return header;
}

/* A proxy that is sent the request itself finds its credentials in the head (RFC 9110 11.7.2). */
static void fill_head(prepared *p, VALUE method, VALUE target, VALUE fields) {
    size_t count = (size_t)RARRAY_LEN(fields) / 2;
    const proxy *through = p->to.proxy;
    VALUE scratch;
    http1_header *headers = ALLOCV_N(http1_header, scratch, count + 1);
    for (size_t i = 0; i < count; i++) {
        headers[i] =
            header_of(RARRAY_AREF(fields, 2 * (long)i), RARRAY_AREF(fields, 2 * (long)i + 1));
        p->says_close |= http1_says_close(&headers[i]);
    }
    if (through != NULL && !through->tunnel && through->authorization != NULL) {
        headers[count++] = (http1_header){"Proxy-Authorization", 19, through->authorization,
                                          strlen(through->authorization)};
    }
    bool composed = http1_request(&p->head, RSTRING_PTR(method), (size_t)RSTRING_LEN(method),
                                  RSTRING_PTR(target), (size_t)RSTRING_LEN(target), headers, count);
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

/* call-seq:
 *   Prepared.new(settings, method, target, fields, host, port, unix_path, tls_name, label, proxy)
 */
static VALUE prepared_initialize(VALUE self, VALUE settings_value, VALUE method, VALUE target,
                                 VALUE fields, VALUE host, VALUE port, VALUE unix_path,
                                 VALUE tls_name, VALUE label, VALUE through) {
    prepared *p = rb_check_typeddata(self, &prepared_type);
    settings_object *s = rb_check_typeddata(settings_value, &settings_type);
    refuse_again(self, &p->begun);
    if (!s->ready) {
        rb_raise(rb_eArgError, "the settings were not initialized");
    }
    Check_Type(method, T_STRING);
    Check_Type(target, T_STRING);
    Check_Type(fields, T_ARRAY);
    if (!NIL_P(tls_name)) {
        need_context(&s->how.tls, &s->tls);
    }
    if (!NIL_P(through) && !NIL_P(engine_fetch(through, "tls_name"))) {
        need_proxy_context(s);
    }
    p->head_method = method_is(method, "HEAD");
    p->safe_method = p->head_method || method_is(method, "GET") || method_is(method, "OPTIONS") ||
                     method_is(method, "TRACE");
    p->settings = settings_value;
    p->how = &s->how;
    place to = {host, port, unix_path, tls_name, label, through};
    route_fill(p, &to);
    fill_head(p, method, target, fields);
    p->ready = true;
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
    rb_define_method(cPrepared, "initialize", prepared_initialize, 10);

    rb_define_const(mEngine, "HTTP2", http2_available() ? Qtrue : Qfalse);
    rb_define_const(mEngine, "CODINGS", rb_obj_freeze(rb_utf8_str_new_cstr(inflater_accepts())));
}

#include "engine.h"

#include "transport/events/descriptors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Engine::Config: how a client's calls are made, and the TLS contexts that they share. */

static void config_free(void *data) {
    config_object *s = data;
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

static size_t config_size(const void *data) {
    (void)data;
    return sizeof(config_object);
}

static const rb_data_type_t config_type = {
    .wrap_struct_name = "Trunkline::Engine::Config",
    .function = {.dfree = config_free, .dsize = config_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

config_object *config_get(VALUE object) {
    config_object *s = rb_check_typeddata(object, &config_type);
    if (!s->ready) rb_raise(rb_eArgError, "the config was not initialized");
    return s;
}

static VALUE config_s_allocate(VALUE class) {
    config_object *s;
    return TypedData_Make_Struct(class, config_object, &config_type, s);
}

VALUE engine_fetch(VALUE hash, const char *key) {
    Check_Type(hash, T_HASH);
    return rb_hash_fetch(hash, ID2SYM(rb_intern(key)));
}

nanoseconds engine_seconds(VALUE seconds) {
    return NIL_P(seconds) ? NEVER : clock_span(NUM2DBL(seconds));
}

static char *string_of(VALUE string) {
    if (NIL_P(string)) return NULL;
    char *copy = strdup(StringValueCStr(string));
    if (copy == NULL) rb_memerror();
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
static void fill_http(config_object *s, VALUE mode) {
    static const char *const offers[] = {"h2,http/1.1", "http/1.1", "h2"};
    s->how.http = HTTP_AUTO;
    if (mode == ID2SYM(rb_intern("h1")) || !http2_available())
        s->how.http = HTTP_ONE;
    else if (mode == ID2SYM(rb_intern("h2")))
        s->how.http = HTTP_TWO;
    s->tls.alpn = offers[s->how.http];
}

/* An address of ours, to connect from. */
static void fill_local(socket_options *how, VALUE address) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)&how->local;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&how->local;
    if (NIL_P(address)) return;
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
    if (!NIL_P(interface))
        snprintf(how->interface, sizeof(how->interface), "%s", StringValueCStr(interface));
    how->keepalive_idle = NUM2INT(engine_fetch(hash, "keepalive_idle"));
    how->keepalive_interval = NUM2INT(engine_fetch(hash, "keepalive_interval"));
    how->user_timeout = NUM2INT(engine_fetch(hash, "user_timeout"));
}

/* Where there is but one processor, the server can answer only while the call sleeps. */
static void fill_busy_poll(call_options *how, VALUE seconds) {
    how->busy_poll = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? engine_seconds(seconds) : 0;
}

void engine_begin_once(VALUE self, bool *begun) {
    rb_check_frozen(self);
    if (*begun)
        rb_raise(rb_eArgError, "the %" PRIsVALUE " is initialized already", rb_obj_class(self));
    *begun = true;
}

/* call-seq: Config.new(hash); see lib/trunkline/engine.rb for its keys */
static VALUE config_initialize(VALUE self, VALUE hash) {
    config_object *s = rb_check_typeddata(self, &config_type);
    engine_begin_once(self, &s->begun);
    VALUE timeouts = engine_fetch(hash, "timeouts");
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        s->how.timeouts[phase] = engine_seconds(engine_fetch(timeouts, phase_word(phase)));
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
static void need_context(struct tls_context **kept, const tls_options *options, VALUE request) {
    if (*kept != NULL) return;
    obtaining o = {.options = options};
    bool scarce;
    do {
        rb_thread_call_without_gvl(obtain_nogvl, &o, NULL, NULL);
        scarce = o.context == NULL && descriptors_exhausted();
    } while (scarce && pool_make_room());
    if (scarce) failure_set(&o.why, FAILURE_CONNECT, PHASE_TLS, errno, "%s", strerror(errno));
    if (o.context == NULL) errors_raise_failure(&o.why, request);
    if (*kept != NULL) {
        tls_context_release(o.context);
        return;
    }
    *kept = o.context;
}

void config_need_context(config_object *s, VALUE request) {
    need_context(&s->how.tls, &s->tls, request);
}

/* A proxy is spoken to in HTTP/1.1, and is not who the client's certificate was made for. */
void config_need_proxy_context(config_object *s, VALUE request) {
    tls_options options = s->tls;
    options.client_cert = options.client_key = NULL;
    options.alpn = "http/1.1";
    need_context(&s->how.proxy_tls, &options, request);
}

void engine_config_init(void) {
    VALUE cConfig = rb_define_class_under(mEngine, "Config", rb_cObject);
    rb_define_alloc_func(cConfig, config_s_allocate);
    rb_define_method(cConfig, "initialize", config_initialize, 1);
    rb_define_const(mEngine, "HTTP2", http2_available() ? Qtrue : Qfalse);
    rb_define_const(mEngine, "CODINGS", rb_obj_freeze(rb_utf8_str_new_cstr(inflater_accepts())));
}

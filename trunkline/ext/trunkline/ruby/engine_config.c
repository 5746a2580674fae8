#include "engine.h"

#include "transport/events/descriptors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Engine::Config: the options of a client's calls, and the TLS contexts that the calls share. */

static void config_free(void *data) {
    config_object *c = data;
    tls_context_release(c->options.tls);
    tls_context_release(c->options.proxy_tls);
    free((char *)c->tls.ca_file);
    free((char *)c->tls.ca_path);
    free((char *)c->tls.client_cert);
    free((char *)c->tls.client_key);
    free((char *)c->tls.client_key_password);
    free((char *)c->tls.ciphers);
    free((char *)c->tls.ciphersuites);
    free((char *)c->tls.keylog);
    openssl_store_release(c->tls.ca_store);
    egress_free(&c->egress);
    ruby_xfree(c);
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
    config_object *c = engine_data(object, &config_type);
    if (!c->ready) rb_raise(rb_eArgError, "the config was not initialized");
    return c;
}

static VALUE config_s_allocate(VALUE class) {
    config_object *c;
    return TypedData_Make_Struct(class, config_object, &config_type, c);
}

VALUE engine_fetch(VALUE hash, const char *key) {
    Check_Type(hash, T_HASH);
    return rb_hash_fetch(hash, ID2SYM(rb_intern(key)));
}

nanoseconds engine_seconds(VALUE seconds) {
    return NIL_P(seconds) ? NEVER : clock_span(NUM2DBL(seconds));
}

VALUE engine_seconds_or_nil(nanoseconds span) {
    return span < 0 || span == NEVER ? Qnil : DBL2NUM((double)span / (double)SECOND);
}

static char *string_of(VALUE string) {
    if (NIL_P(string)) return NULL;
    char *copy = strdup(StringValueCStr(string));
    if (copy == NULL) rb_memerror();
    return copy;
}

static void set_lenient_limits(http1_limits *limits) {
    limits->lenient = true;
    limits->extension_line = limits->extension_total = limits->trailer_bytes = 1024 * 1024;
    limits->informational = 100;
}

static void fill_limits(call_options *options, VALUE hash) {
    options->limits = http1_default_limits;
    options->limits.head_bytes = NUM2SIZET(engine_fetch(hash, "max_header_bytes"));
    options->limits.fields = NUM2UINT(engine_fetch(hash, "max_headers"));
    if (RTEST(engine_fetch(hash, "lenient"))) set_lenient_limits(&options->limits);
    options->max_body_bytes = NUM2ULL(engine_fetch(hash, "max_body_bytes"));
    options->max_streamed_bytes = NUM2ULL(engine_fetch(hash, "max_streamed_bytes"));
    options->max_decode_ratio = NUM2UINT(engine_fetch(hash, "max_decode_ratio"));
    options->max_connections = NUM2UINT(engine_fetch(hash, "max_connections_per_host"));
    options->idle_timeout = engine_seconds(engine_fetch(hash, "idle_timeout"));
    VALUE max_age = engine_fetch(hash, "max_age");
    nanoseconds span = engine_seconds(max_age);
    options->max_age = NIL_P(max_age) ? 0 : span > 0 ? span : 1;
    options->decode = RTEST(engine_fetch(hash, "decode"));
    options->replay_safe = RTEST(engine_fetch(hash, "replay_safe"));
    options->owner_id = NUM2ULL(engine_fetch(hash, "owner"));
}

static void fill_tls(tls_options *tls, VALUE hash) {
    tls->verify = RTEST(engine_fetch(hash, "verify"));
    tls->ca_file = string_of(engine_fetch(hash, "ca_file"));
    tls->any_name = !RTEST(engine_fetch(hash, "verify_hostname"));
    tls->common_name = RTEST(engine_fetch(hash, "common_name"));
    tls->ca_path = string_of(engine_fetch(hash, "ca_path"));
    tls->ca_store = openssl_store_keep(engine_fetch(hash, "ca_store"));
    tls->client_cert = string_of(engine_fetch(hash, "client_cert"));
    tls->client_key = string_of(engine_fetch(hash, "client_key"));
    tls->client_key_password = string_of(engine_fetch(hash, "client_key_password"));
    tls->keylog = string_of(engine_fetch(hash, "keylog"));
    tls->min_version = NUM2INT(engine_fetch(hash, "min_version"));
    tls->max_version = NUM2INT(engine_fetch(hash, "max_version"));
    tls->ciphers = string_of(engine_fetch(hash, "ciphers"));
    tls->ciphersuites = string_of(engine_fetch(hash, "ciphersuites"));
    VALUE depth = engine_fetch(hash, "verify_depth");
    tls->limit_depth = !NIL_P(depth);
    tls->verify_depth = NIL_P(depth) ? 0 : NUM2INT(depth);
}

/* Sets the protocols that ALPN offers. They are a part of the TLS options, so that clients with
 * different http: modes do not share connections. */
static void fill_http(config_object *c, VALUE mode) {
    static const char *const offers[] = {"h2,http/1.1", "http/1.1", "h2"};
    c->options.http = HTTP_AUTO;
    if (mode == ID2SYM(rb_intern("h1")) || !http2_available())
        c->options.http = HTTP_ONE;
    else if (mode == ID2SYM(rb_intern("h2")))
        c->options.http = HTTP_TWO;
    c->tls.alpn = offers[c->options.http];
}

/* Sets the local address to connect from. */
static void fill_local(socket_options *options, VALUE address) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)&options->local;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&options->local;
    if (NIL_P(address)) return;
    if (inet_pton(AF_INET, StringValueCStr(address), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        options->local_length = sizeof(*v4);
    } else if (inet_pton(AF_INET6, StringValueCStr(address), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        options->local_length = sizeof(*v6);
    } else {
        errors_invalid("bind: %+" PRIsVALUE " is no IP address", address);
    }
}

static void fill_sockets(socket_options *options, VALUE hash) {
    VALUE interface = engine_fetch(hash, "interface");
    fill_local(options, engine_fetch(hash, "address"));
    if (!NIL_P(interface))
        snprintf(options->interface, sizeof(options->interface), "%s", StringValueCStr(interface));
    options->keepalive_idle = NUM2INT(engine_fetch(hash, "keepalive_idle"));
    options->keepalive_interval = NUM2INT(engine_fetch(hash, "keepalive_interval"));
    options->user_timeout = NUM2INT(engine_fetch(hash, "user_timeout"));
}

/* Turns busy-polling off with one processor, where a server on the same machine runs only while the
 * call sleeps. */
static void fill_busy_poll(call_options *options, VALUE seconds) {
    options->busy_poll = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? engine_seconds(seconds) : 0;
}

static void fill_egress(config_object *c, VALUE rule) {
    if (NIL_P(rule)) return;
    c->options.egress = &c->egress;
    engine_fill_egress(&c->egress, rule);
}

void engine_begin_once(VALUE self, bool *begun) {
    rb_check_frozen(self);
    if (*begun)
        rb_raise(rb_eArgError, "the %" PRIsVALUE " is initialized already", rb_obj_class(self));
    *begun = true;
}

/* call-seq: Config.new(hash); see lib/trunkline/engine.rb for its keys */
static VALUE config_initialize(VALUE self, VALUE hash) {
    config_object *c = rb_check_typeddata(self, &config_type);
    engine_begin_once(self, &c->begun);
    VALUE timeouts = engine_fetch(hash, "timeouts");
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        c->options.timeouts[phase] = engine_seconds(engine_fetch(timeouts, phase_word(phase)));
    c->options.total = engine_seconds(engine_fetch(hash, "total"));
    c->options.expect = engine_seconds(engine_fetch(hash, "expect"));
    fill_busy_poll(&c->options, engine_fetch(hash, "busy_poll"));
    fill_limits(&c->options, hash);
    fill_tls(&c->tls, engine_fetch(hash, "tls"));
    fill_http(c, engine_fetch(hash, "http"));
    fill_sockets(&c->options.sockets, engine_fetch(hash, "sockets"));
    fill_egress(c, engine_fetch(hash, "egress"));
    c->ready = true;
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

/* Makes a TLS context when it is first needed, without the GVL, because reading CA certificates
 * takes tens of milliseconds. Concurrent threads get the same context. */
static void need_context(struct tls_context **context_slot, const tls_options *options,
                         VALUE request) {
    if (*context_slot != NULL) return;
    obtaining o = {.options = options};
    bool scarce;
    do {
        rb_thread_call_without_gvl(obtain_nogvl, &o, NULL, NULL);
        scarce = o.context == NULL && descriptors_exhausted();
    } while (scarce && pool_make_room());
    if (scarce) failure_set(&o.why, FAILURE_CONNECT, PHASE_TLS, errno, "%s", strerror(errno));
    if (o.context == NULL) errors_raise_failure(&o.why, request);
    if (*context_slot != NULL) {
        tls_context_release(o.context);
        return;
    }
    *context_slot = o.context;
}

void config_need_context(config_object *c, VALUE request) {
    need_context(&c->options.tls, &c->tls, request);
}

/* The context for proxies offers only HTTP/1.1, and has no client certificate. */
void config_need_proxy_context(config_object *c, VALUE request) {
    tls_options options = c->tls;
    options.client_cert = options.client_key = options.client_key_password = NULL;
    options.alpn = "http/1.1";
    need_context(&c->options.proxy_tls, &options, request);
}

void engine_config_init(void) {
    VALUE cConfig = rb_define_class_under(mEngine, "Config", rb_cObject);
    rb_define_alloc_func(cConfig, config_s_allocate);
    rb_define_method(cConfig, "initialize", config_initialize, 1);
    rb_define_const(mEngine, "HTTP2", http2_available() ? Qtrue : Qfalse);
    rb_define_const(mEngine, "CODINGS", rb_obj_freeze(rb_utf8_str_new_cstr(inflater_accepts())));
}

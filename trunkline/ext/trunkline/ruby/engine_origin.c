#include "engine.h"

#include "protocol/hash.h"

#include <string.h>

/* Engine::Origin: the destination of one client's requests to one origin. */

/* Does not convert the object, because copy_string must copy the same String later. */
static size_t string_size(VALUE string) {
    if (NIL_P(string)) return 0;
    Check_Type(string, T_STRING);
    return strlen(StringValueCStr(string)) + 1;
}

static const char *copy_string(char **at, VALUE string) {
    if (NIL_P(string)) return NULL;
    char *start = *at;
    size_t length = strlen(StringValueCStr(string)) + 1;
    memcpy(start, RSTRING_PTR(string), length);
    *at += length;
    return start;
}

/* ---- the key by which the pool shares connections ---- */

static void add_bytes(buffer *key, const void *bytes, size_t length) {
    if (!buffer_append(key, bytes, length)) rb_memerror();
}

/* Adds the text with its NUL, so that one text cannot equal two. */
static void add_text(buffer *key, const char *text) {
    add_bytes(key, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

static void add_context(buffer *key, const struct tls_context *context, const char *name) {
    uint64_t id = context != NULL && name != NULL ? tls_context_id(context) : 0;
    add_bytes(key, &id, sizeof(id));
    add_text(key, name);
}

/* Adds the address of the socket, and its options. */
static void add_socket(buffer *key, const route *r, const socket_options *options) {
    const char *host = r->proxy != NULL ? r->proxy->host : r->host;
    uint16_t port = r->proxy != NULL ? r->proxy->port : r->port;
    add_text(key, r->unix_path != NULL ? "unix" : "tcp");
    add_text(key, r->unix_path != NULL ? r->unix_path : host);
    add_bytes(key, &port, sizeof(port));
    add_bytes(key, &options->keepalive_idle, sizeof(options->keepalive_idle));
    add_bytes(key, &options->keepalive_interval, sizeof(options->keepalive_interval));
    add_bytes(key, &options->user_timeout, sizeof(options->user_timeout));
    add_text(key, options->interface);
    add_bytes(key, &options->local, options->local_length);
}

/* Adds the credentials too, because connections of different users have different rights. */
static void add_proxy(buffer *key, const proxy *p, const call_options *options) {
    uint8_t kind = (uint8_t)p->kind;
    add_bytes(key, &kind, 1);
    add_context(key, options->proxy_tls, p->tls_name);
    add_text(key, p->authorization);
    add_text(key, p->user);
    add_text(key, p->password);
}

/* Adds the rule, because another rule may not allow the same connection. */
static void add_egress(buffer *key, const egress *e) {
    const ip_networks *lists[] = {&e->allow, &e->deny};
    add_text(key, "egress");
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        add_bytes(key, &lists[i]->count, sizeof(lists[i]->count));
        add_bytes(key, lists[i]->list, lists[i]->count * sizeof(*lists[i]->list));
    }
    add_bytes(key, &e->port_count, sizeof(e->port_count));
    add_bytes(key, e->ports, e->port_count * sizeof(*e->ports));
    add_bytes(key, &e->unix_sockets, sizeof(e->unix_sockets));
    add_bytes(key, &e->proxies, sizeof(e->proxies));
}

/* Connections to a proxy that receives the requests themselves are shared by all servers, so that
 * the key does not contain the server. */
static void make_key(origin_object *p) {
    route *r = &p->to;
    buffer *key = &p->key;
    bool direct_or_tunnel = r->proxy == NULL || r->proxy->tunnel;
    add_socket(key, r, &p->config->options.sockets);
    if (r->proxy != NULL) add_proxy(key, r->proxy, &p->config->options);
    if (direct_or_tunnel) {
        add_context(key, p->config->options.tls, r->tls_name);
        add_text(key, r->proxy != NULL ? r->host : NULL);
        add_bytes(key, &r->port, sizeof(r->port));
    }
    if (r->sharing == SHARING_ALWAYS) add_text(key, "h2");
    if (p->config->options.egress != NULL) add_egress(key, p->config->options.egress);
    r->key = (const char *)key->bytes;
    r->key_length = (uint32_t)buffer_length(key);
    r->key_hash = hash_bytes(key->bytes, buffer_length(key));
}

/* ---- the route ---- */

static const char *const proxy_texts[] = {"host", "tls_name", "label",
                                          "user", "password", "authorization"};
#define PROXY_TEXTS (sizeof(proxy_texts) / sizeof(proxy_texts[0]))

static size_t proxy_length(VALUE facts) {
    size_t total = 0;
    for (size_t i = 0; !NIL_P(facts) && i < PROXY_TEXTS; i++)
        total += string_size(engine_fetch(facts, proxy_texts[i]));
    return total;
}

static proxy_kind kind_of(VALUE symbol) {
    if (symbol == ID2SYM(rb_intern("http"))) return PROXY_HTTP;
    if (symbol == ID2SYM(rb_intern("socks5"))) return PROXY_SOCKS5;
    if (symbol == ID2SYM(rb_intern("socks5h"))) return PROXY_SOCKS5H;
    rb_raise(rb_eArgError, "an unknown kind of proxy: %+" PRIsVALUE, symbol);
}

static void copy_proxy(origin_object *p, char **at, VALUE facts) {
    const char *texts[PROXY_TEXTS];
    for (size_t i = 0; i < PROXY_TEXTS; i++)
        texts[i] = copy_string(at, engine_fetch(facts, proxy_texts[i]));
    p->proxy = (proxy){
        .kind = kind_of(engine_fetch(facts, "kind")),
        .tunnel = RTEST(engine_fetch(facts, "tunnel")),
        .host = texts[0],
        .port = (uint16_t)NUM2UINT(engine_fetch(facts, "port")),
        .tls_name = texts[1],
        .label = texts[2],
        .user = texts[3],
        .password = texts[4],
        .authorization = texts[5],
    };
    p->to.proxy = &p->proxy;
}

/* A proxy that receives the requests themselves is used with HTTP/1.1 only. */
static sharing sharing_of(const origin_object *p) {
    bool direct_or_tunnel = p->to.proxy == NULL || p->to.proxy->tunnel;
    if (!direct_or_tunnel || p->config->options.http == HTTP_ONE) return SHARING_NEVER;
    if (p->to.tls_name != NULL) return SHARING_OFFERED;
    return p->config->options.http == HTTP_TWO ? SHARING_ALWAYS : SHARING_NEVER;
}

/* ---- the object ---- */

static void origin_mark(void *data) {
    const origin_object *o = data;
    rb_gc_mark(o->config_value);
    rb_gc_mark(o->url);
    rb_gc_mark(o->forwarder);
    rb_gc_mark(o->json_decoder);
    rb_gc_mark(o->authorization);
}

static void origin_free(void *data) {
    origin_object *o = data;
    free(o->strings);
    buffer_free(&o->key);
    ruby_xfree(o);
}

static size_t origin_size(const void *data) {
    const origin_object *o = data;
    return sizeof(*o) + o->key.capacity + o->strings_size;
}

/* origin_mark pins the config, because o->config points into it. */
static const rb_data_type_t origin_type = {
    .wrap_struct_name = "Trunkline::Engine::Origin",
    .function = {.dmark = origin_mark, .dfree = origin_free, .dsize = origin_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

origin_object *origin_get(VALUE object) {
    origin_object *o = engine_data(object, &origin_type);
    if (!o->complete) rb_raise(rb_eArgError, "the origin was not initialized");
    return o;
}

static VALUE origin_s_allocate(VALUE class) {
    origin_object *o;
    VALUE self = TypedData_Make_Struct(class, origin_object, &origin_type, o);
    o->config_value = o->url = o->forwarder = o->json_decoder = o->authorization = Qnil;
    return self;
}

/* The text members of the Hash, in their order in `strings`. */
static const char *const origin_texts[] = {"host",  "unix_path", "tls_name",
                                           "label", "authority", "prefix"};
#define ORIGIN_TEXTS (sizeof(origin_texts) / sizeof(origin_texts[0]))

/* Checks that label, authority and prefix are given, and host unless a Unix socket is dialled. */
static void check_facts(VALUE facts, VALUE through) {
    for (size_t i = 3; i < ORIGIN_TEXTS; i++)
        Check_Type(engine_fetch(facts, origin_texts[i]), T_STRING);
    if (NIL_P(engine_fetch(facts, "unix_path"))) Check_Type(engine_fetch(facts, "host"), T_STRING);
    if (!NIL_P(through)) {
        Check_Type(engine_fetch(through, "host"), T_STRING);
        Check_Type(engine_fetch(through, "label"), T_STRING);
        if (!NIL_P(engine_fetch(through, "user")))
            Check_Type(engine_fetch(through, "password"), T_STRING);
    }
}

static void fill_texts(origin_object *o, VALUE facts, VALUE through) {
    size_t total = proxy_length(through);
    for (size_t i = 0; i < ORIGIN_TEXTS; i++)
        total += string_size(engine_fetch(facts, origin_texts[i]));
    char *at = o->strings = malloc(total + 1);
    if (at == NULL) rb_memerror();
    o->strings_size = total + 1;
    const char **const members[ORIGIN_TEXTS] = {&o->to.host,  &o->to.unix_path, &o->to.tls_name,
                                                &o->to.label, &o->authority,    &o->prefix};
    for (size_t i = 0; i < ORIGIN_TEXTS; i++)
        *members[i] = copy_string(&at, engine_fetch(facts, origin_texts[i]));
    if (!NIL_P(through)) copy_proxy(o, &at, through);
    o->authority_length = strlen(o->authority);
    o->prefix_length = strlen(o->prefix);
}

/* call-seq: Origin.new(config, url, facts); see lib/trunkline/engine.rb for the keys */
static VALUE origin_initialize(VALUE self, VALUE config, VALUE url, VALUE facts) {
    origin_object *o = rb_check_typeddata(self, &origin_type);
    engine_begin_once(self, &o->begun);
    o->config = config_get(config);
    o->config_value = config;
    VALUE through = engine_fetch(facts, "proxy"),
          authorization = engine_fetch(facts, "authorization");
    check_facts(facts, through);
    if (!NIL_P(authorization)) {
        Check_Type(authorization, T_STRING);
        authorization = rb_str_new_frozen(authorization);
    }
    o->to.port = (uint16_t)NUM2UINT(engine_fetch(facts, "port"));
    fill_texts(o, facts, through);
    o->url = url;
    o->authorization = authorization;
    o->forwarder = engine_fetch(facts, "forwarder");
    o->json_decoder = engine_fetch(facts, "json_decoder");
    o->absolute_form = !NIL_P(o->forwarder);
    o->bound_fields = RTEST(engine_fetch(facts, "bound_fields"));
    o->to.sharing = sharing_of(o);
    if (o->to.sharing == SHARING_NEVER && o->config->options.http == HTTP_TWO) {
        errors_invalid("http: :h2 cannot be spoken to a proxy that is sent the request itself; "
                       "use :auto, an https URL, or a SOCKS proxy");
    }
    o->complete = true;
    return rb_obj_freeze(self);
}

/* Obtaining a context releases the GVL: another thread may complete the key meanwhile. */
void origin_need_key(origin_object *o, VALUE request) {
    if (o->to.key != NULL) return;
    if (o->to.tls_name != NULL) config_need_context(o->config, request);
    if (o->to.proxy != NULL && o->to.proxy->tls_name != NULL)
        config_need_proxy_context(o->config, request);
    if (o->to.key == NULL) make_key(o);
}

static VALUE origin_url(VALUE self) {
    return origin_get(self)->url;
}

static VALUE origin_forwarder(VALUE self) {
    return origin_get(self)->forwarder;
}

static VALUE origin_json_decoder(VALUE self) {
    return origin_get(self)->json_decoder;
}

void engine_origin_init(void) {
    VALUE cOrigin = rb_define_class_under(mEngine, "Origin", rb_cObject);
    rb_define_alloc_func(cOrigin, origin_s_allocate);
    rb_define_method(cOrigin, "initialize", origin_initialize, 3);
    rb_define_method(cOrigin, "url", origin_url, 0);
    rb_define_method(cOrigin, "forwarder", origin_forwarder, 0);
    rb_define_method(cOrigin, "json_decoder", origin_json_decoder, 0);
}

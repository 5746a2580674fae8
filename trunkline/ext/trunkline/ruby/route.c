#include "engine.h"

#include <string.h>

/* Where a prepared request goes, and the key of the connections that it may use. */

/* No conversion: what is measured here is copied later. */
static size_t place_length(VALUE string) {
    if (NIL_P(string)) {
        return 0;
    }
    Check_Type(string, T_STRING);
    return strlen(StringValueCStr(string)) + 1;
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

/* ---- the key ---- */

/* FNV-1a: the key is short, and known to nobody who could choose it to collide. */
static uint32_t hash_of(const uint8_t *bytes, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * 16777619u;
    }
    return hash;
}

static void add_bytes(buffer *key, const void *bytes, size_t length) {
    if (!buffer_append(key, bytes, length)) {
        rb_memerror();
    }
}

/* With its NUL: no text can pose as two. */
static void add_text(buffer *key, const char *text) {
    add_bytes(key, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

static void add_context(buffer *key, const struct tls_context *context, const char *name) {
    uint64_t id = context != NULL && name != NULL ? tls_context_id(context) : 0;
    add_bytes(key, &id, sizeof(id));
    add_text(key, name);
}

/* What the socket is connected to, and how it was made. */
static void add_socket(buffer *key, const route *r, const socket_options *how) {
    const char *host = r->proxy != NULL ? r->proxy->host : r->host;
    uint16_t port = r->proxy != NULL ? r->proxy->port : r->port;
    add_text(key, r->unix_path != NULL ? "unix" : "tcp");
    add_text(key, r->unix_path != NULL ? r->unix_path : host);
    add_bytes(key, &port, sizeof(port));
    add_bytes(key, &how->keepalive_idle, sizeof(how->keepalive_idle));
    add_bytes(key, &how->keepalive_interval, sizeof(how->keepalive_interval));
    add_bytes(key, &how->user_timeout, sizeof(how->user_timeout));
    add_text(key, how->interface);
    add_bytes(key, &how->local, how->local_length);
}

/* The credentials too: what one user's connection may do, another's may not. */
static void add_proxy(buffer *key, const proxy *p, const call_options *how) {
    uint8_t kind = (uint8_t)p->kind;
    add_bytes(key, &kind, 1);
    add_context(key, how->proxy_tls, p->tls_name);
    add_text(key, p->authorization);
    add_text(key, p->user);
    add_text(key, p->password);
}

/* The connections to a proxy that is sent the requests themselves serve every server. */
static void make_key(prepared *p) {
    route *r = &p->to;
    buffer *key = &p->key;
    bool own_way = r->proxy == NULL || r->proxy->tunnel;
    add_socket(key, r, &p->how->sockets);
    if (r->proxy != NULL) {
        add_proxy(key, r->proxy, p->how);
    }
    if (own_way) {
        add_context(key, p->how->tls, r->tls_name);
        add_text(key, r->proxy != NULL ? r->host : NULL);
        add_bytes(key, &r->port, sizeof(r->port));
    }
    if (r->sharing == SHARING_ALWAYS) {
        add_text(key, "h2");
    }
    r->key = (const char *)key->bytes;
    r->key_length = (uint32_t)buffer_length(key);
    r->key_hash = hash_of(key->bytes, buffer_length(key));
}

/* ---- the route ---- */

static const char *const proxy_texts[] = {"host", "tls_name", "label",
                                          "user", "password", "authorization"};
#define PROXY_TEXTS (sizeof(proxy_texts) / sizeof(proxy_texts[0]))

static size_t proxy_length(VALUE facts) {
    size_t total = 0;
    for (size_t i = 0; !NIL_P(facts) && i < PROXY_TEXTS; i++) {
        total += place_length(engine_fetch(facts, proxy_texts[i]));
    }
    return total;
}

static proxy_kind kind_of(VALUE symbol) {
    if (symbol == ID2SYM(rb_intern("http"))) return PROXY_HTTP;
    if (symbol == ID2SYM(rb_intern("socks5"))) return PROXY_SOCKS5;
    if (symbol == ID2SYM(rb_intern("socks5h"))) return PROXY_SOCKS5H;
    rb_raise(rb_eArgError, "an unknown kind of proxy: %+" PRIsVALUE, symbol);
}

static void place_proxy(prepared *p, char **at, VALUE facts) {
    const char *texts[PROXY_TEXTS];
    for (size_t i = 0; i < PROXY_TEXTS; i++) {
        texts[i] = place_string(at, engine_fetch(facts, proxy_texts[i]));
    }
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

/* A proxy that is sent the requests themselves is spoken to in HTTP/1.1. */
static sharing sharing_of(const prepared *p) {
    bool own_way = p->to.proxy == NULL || p->to.proxy->tunnel;
    if (!own_way || p->how->http == HTTP_ONE) {
        return SHARING_NEVER;
    }
    if (p->to.tls_name != NULL) {
        return SHARING_OFFERED;
    }
    return p->how->http == HTTP_TWO ? SHARING_ALWAYS : SHARING_NEVER;
}

/* Of everybody the label; what is connected to by its name or address. */
static void require_texts(const place *to) {
    Check_Type(to->label, T_STRING);
    if (NIL_P(to->unix_path)) {
        Check_Type(to->host, T_STRING);
    }
    if (!NIL_P(to->proxy)) {
        Check_Type(engine_fetch(to->proxy, "host"), T_STRING);
        Check_Type(engine_fetch(to->proxy, "label"), T_STRING);
        if (!NIL_P(engine_fetch(to->proxy, "user"))) {
            Check_Type(engine_fetch(to->proxy, "password"), T_STRING);
        }
    }
}

void route_fill(prepared *p, const place *to) {
    require_texts(to);
    size_t total = place_length(to->host) + place_length(to->unix_path) +
                   place_length(to->tls_name) + place_length(to->label) + proxy_length(to->proxy);
    char *at = p->strings = malloc(total + 1);
    if (at == NULL) {
        rb_memerror();
    }
    p->to.host = place_string(&at, to->host);
    p->to.port = (uint16_t)NUM2UINT(to->port);
    p->to.unix_path = place_string(&at, to->unix_path);
    p->to.tls_name = place_string(&at, to->tls_name);
    p->to.label = place_string(&at, to->label);
    if (!NIL_P(to->proxy)) {
        place_proxy(p, &at, to->proxy);
    }
    p->to.sharing = sharing_of(p);
    if (p->to.sharing == SHARING_NEVER && p->how->http == HTTP_TWO) {
        errors_invalid("http: :h2 cannot be spoken to a proxy that is sent the request itself; "
                       "use :auto, an https URL, or a SOCKS proxy");
    }
    make_key(p);
}

#include "request.h"

#include "protocol/http1/http1.h"
#include "protocol/http1/http1_table.h"

#include <stdio.h>
#include <string.h>

/* Composes a request's head, without calling Ruby: the fields, which were checked when they were
 * listed, are sized, and then written once, into the block of the request. */

/* ---- names ---- */

static uint8_t name_byte(const request_field *f, uint32_t at) {
    uint8_t byte = http1_lower((uint8_t)f->name[at]);
    return f->underscores && byte == '_' ? '-' : byte;
}

bool field_same_name(const request_field *a, const request_field *b) {
    if (a->name_length != b->name_length) return false;
    for (uint32_t i = 0; i < a->name_length; i++)
        if (name_byte(a, i) != name_byte(b, i)) return false;
    return true;
}

int field_kind(const char *name, size_t length, bool underscores) {
    static const struct {
        const char *name;
        int kind;
    } known[] = {{"host", FIELD_HOST},
                 {"content-length", FIELD_CONTENT_LENGTH},
                 {"content-type", FIELD_CONTENT_TYPE},
                 {"connection", FIELD_CONNECTION},
                 {"accept-encoding", FIELD_ACCEPT_ENCODING},
                 {"range", FIELD_RANGE},
                 {"transfer-encoding", FIELD_RESERVED},
                 {"expect", FIELD_EXPECT},
                 {"upgrade", FIELD_RESERVED}};
    const request_field given = {
        .name = name, .name_length = (uint32_t)length, .underscores = underscores};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const request_field word = {.name = known[i].name,
                                    .name_length = (uint32_t)strlen(known[i].name)};
        if (field_same_name(&given, &word)) return known[i].kind;
    }
    return FIELD_OTHER;
}

/* ---- replaced fields ---- */

static void mark_replaced(request_field *fields, uint32_t count) {
    uint32_t next_group = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (next_group < count && fields[next_group].group <= fields[i].group) next_group++;
        for (uint32_t j = next_group; j < count && !fields[i].replaced; j++)
            fields[i].replaced = field_same_name(&fields[i], &fields[j]);
    }
}

/* How the caller's fields change the fields that are added. */
typedef struct {
    const char *host;
    size_t host_length;
    int64_t declared; /* Content-Length; -1: none */
    bool decode, expect;
} adjustments;

static int64_t number(const char *digits, size_t length) {
    int64_t value = 0;
    for (size_t i = 0; i < length && i < 18; i++) value = value * 10 + (digits[i] - '0');
    return value;
}

/* Returns whether the field is written in the list's order. put_head writes Host and Content-Length
 * elsewhere. */
static bool in_line(const composition *c, const request_field *f) {
    if (f->replaced || f->value == NULL) return false;
    return c->raw || (f->kind != FIELD_HOST && f->kind != FIELD_CONTENT_LENGTH);
}

static adjustments adjust(const composition *c) {
    adjustments a = {c->origin->authority, c->origin->authority_length, -1, c->decode,
                     c->has_content && c->expect_above >= 0};
    for (uint32_t i = 0; i < c->field_count; i++) {
        const request_field *f = &c->fields[i];
        if (f->replaced) continue;
        if (f->kind == FIELD_HOST) {
            a.host = f->value ? f->value : c->origin->authority;
            a.host_length = f->value ? f->value_length : c->origin->authority_length;
        } else if (f->kind == FIELD_CONTENT_LENGTH) {
            a.declared = f->value ? number(f->value, f->value_length) : -1;
        } else if (f->kind == FIELD_ACCEPT_ENCODING || f->kind == FIELD_RANGE) {
            a.decode = false;
        } else if (f->kind == FIELD_EXPECT) {
            a.expect = false;
        }
    }
    return a;
}

/* ---- writing ---- */

static char *put(char *at, const char *bytes, size_t length) {
    if (length > 0) memcpy(at, bytes, length);
    return at + length;
}

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static char *put_field(char *at, const request_field *f) {
    if (f->whole) return put(at, f->name, f->name_length + f->value_length + 4);
    at = put(at, f->name, f->name_length);
    for (uint32_t i = 0; f->underscores && i < f->name_length; i++) {
        char *byte = at - f->name_length + i;
        *byte = *byte == '_' ? '-' : *byte;
    }
    at = PUT(at, ": ");
    at = put(at, f->value, f->value_length);
    return PUT(at, "\r\n");
}

static const char *proxy_authorization(const origin_object *o) {
    const proxy *via = o->to.proxy;
    return via != NULL && !via->tunnel ? via->authorization : NULL;
}

/* The most bytes that put_head adds to the given texts. */
#define ADDED_MOST 200

/* Returns an upper bound of the head's length. */
static size_t head_room(const composition *c, const adjustments *a) {
    const char *authorization = proxy_authorization(c->origin);
    size_t room = c->method_length + c->origin->prefix_length + c->path_length + c->target_length +
                  c->query_length + a->host_length + ADDED_MOST;
    for (uint32_t i = 0; i < c->field_count; i++)
        room += c->fields[i].name_length + c->fields[i].value_length + 4;
    return room + (authorization ? strlen(authorization) : 0);
}

/* Returns whether the whole target is "*", which names the server itself. The relative reference
 * "*" has a path before it. */
static bool is_asterisk(const composition *c) {
    return c->path_length == 0 && c->target_length == 1 && c->target[0] == '*';
}

static bool method_is(const composition *c, const char *name) {
    return c->method_length == strlen(name) && memcmp(c->method, name, c->method_length) == 0;
}

/* Returns whether the proxy that receives the request makes its target "*": it gets the origin
 * alone (RFC 9112 3.2.4). */
static bool omits_target(const composition *c) {
    return c->origin->absolute_form && is_asterisk(c) && method_is(c, "OPTIONS");
}

static char *put_target(char *at, const composition *c) {
    at = put(at, c->path, c->path_length);
    at = put(at, c->target, c->target_length);
    if (c->query_mark != 0) *at++ = c->query_mark;
    if (c->query != NULL) {
        at = put(at, c->query, c->query_length);
    } else if (c->query_mark != 0) {
        params_put(at, c->params);
        at += c->query_length;
    }
    return at;
}

/* A target for a proxy that receives the request itself begins with the origin (RFC 9112 3.2.2). */
static char *put_request_line(char *at, request_object *r, const composition *c) {
    at = put(at, c->method, c->method_length);
    at = PUT(at, " ");
    if (c->origin->absolute_form && (!is_asterisk(c) || omits_target(c)))
        at = put(at, c->origin->prefix, c->origin->prefix_length);
    char *target = at;
    if (!omits_target(c)) at = put_target(at, c);
    r->target = (uint32_t)(target - r->head);
    r->target_length = (uint32_t)(at - target);
    return PUT(at, " HTTP/1.1\r\n");
}

/* Returns whether the request has Content-Length or Transfer-Encoding: with content, and for these
 * methods even without (RFC 9110 8.6). */
static bool sends_length(const composition *c) {
    return c->has_content || method_is(c, "POST") || method_is(c, "PUT") || method_is(c, "PATCH");
}

static char *put_framing(char *at, const request_object *r, const composition *c) {
    if (!sends_length(c)) return at;
    if (r->content_length < 0)
        at = PUT(at, "Transfer-Encoding: chunked\r\n");
    else
        at += sprintf(at, "Content-Length: %lld\r\n", (long long)r->content_length);
    return r->expects ? PUT(at, "Expect: 100-continue\r\n") : at;
}

static bool sends_close(const request_field *f) {
    const http1_header header = {f->name, f->name_length, f->value, f->value_length};
    return http1_says_close(&header);
}

static char *put_fields(char *at, request_object *r, const composition *c, const adjustments *a) {
    if (!c->raw) {
        at = PUT(at, "Host: ");
        at = put(at, a->host, a->host_length);
        at = PUT(at, "\r\n");
    }
    for (uint32_t i = 0; i < c->field_count; i++) {
        const request_field *f = &c->fields[i];
        if (!in_line(c, f)) continue;
        r->sends_close |= f->kind == FIELD_CONNECTION && sends_close(f);
        at = put_field(at, f);
    }
    if (c->upgrades) at = PUT(at, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    if (!c->raw && a->decode) {
        const char *codings = inflater_accepts();
        at = PUT(at, "Accept-Encoding: ");
        at = put(at, codings, strlen(codings));
        at = PUT(at, "\r\n");
    }
    return c->raw ? at : put_framing(at, r, c);
}

/* Adds the credentials for a proxy that receives the request itself (RFC 9110 11.7.2). */
static char *put_proxy_fields(char *at, const composition *c) {
    const char *authorization = proxy_authorization(c->origin);
    if (authorization == NULL) return at;
    at = PUT(at, "Proxy-Authorization: ");
    at = put(at, authorization, strlen(authorization));
    return PUT(at, "\r\n");
}

static void put_head(request_object *r, const composition *c, const adjustments *a) {
    char *at = put_request_line(r->head, r, c);
    r->fields = (uint32_t)(at - r->head);
    at = put_fields(at, r, c, a);
    r->fields_end = (uint32_t)(at - r->head);
    at = put_proxy_fields(at, c);
    at = PUT(at, "\r\n");
    r->head_length = (uint32_t)(at - r->head);
}

static bool make_room(request_object *r, size_t room) {
    r->head = room <= REQUEST_BYTES - sizeof(*r) ? (char *)(r + 1)
              : room < UINT32_MAX                ? malloc(room)
                                                 : NULL;
    return r->head != NULL;
}

compose_result request_compose(request_object *r, const composition *c, int64_t *declared) {
    if (!c->raw) mark_replaced(c->fields, c->field_count);
    adjustments a = adjust(c);
    r->content_length = c->content_length;
    if (a.declared >= 0 && !c->raw) {
        *declared = a.declared;
        if (c->content_length >= 0 && c->content_length != a.declared) return COMPOSE_LENGTH;
        r->content_length = a.declared;
    }
    /* Content of unknown length may exceed expect_above. */
    bool much = r->content_length < 0 || r->content_length > c->expect_above;
    r->expects = c->raw || (a.expect && much);
    r->head_method = method_is(c, "HEAD");
    r->safe_method =
        r->head_method || method_is(c, "GET") || method_is(c, "OPTIONS") || method_is(c, "TRACE");
    if (!http1_name_valid(c->method, c->method_length)) return COMPOSE_INVALID;
    if (!make_room(r, head_room(c, &a))) return COMPOSE_NO_MEMORY;
    put_head(r, c, &a);
    bool valid = omits_target(c) || http1_target_valid(r->head + r->target, r->target_length);
    return valid ? COMPOSED : COMPOSE_INVALID;
}

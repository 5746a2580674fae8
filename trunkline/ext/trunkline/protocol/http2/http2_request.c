#ifdef HAVE_NGHTTP2

#include "http2_internal.h"
#include "protocol/http1/http1_table.h"

/* Translates an HTTP/1.1 request head to a list of HTTP/2 headers (RFC 9113 8.2, 8.3.1), which
 * nghttp2 copies with names in lower case. */

typedef struct {
    const char *bytes;
    size_t length;
} word;

#define IS(w, literal) HTTP1_SAME((const uint8_t *)(w).bytes, (w).length, literal)

/* Removes the bytes up to `mark`, and the mark, from the front of `rest`, and stores them without
 * the mark in *out. Returns false when `rest` has no mark. */
static bool next_word(word *rest, char mark, word *out) {
    const char *end = memchr(rest->bytes, mark, rest->length);
    if (end == NULL) return false;
    *out = (word){rest->bytes, (size_t)(end - rest->bytes)};
    rest->bytes = end + 1;
    rest->length -= out->length + 1;
    return true;
}

static bool next_line(word *rest, word *line) {
    if (!next_word(rest, '\n', line)) return false;
    if (line->length > 0 && line->bytes[line->length - 1] == '\r') line->length--;
    return line->length > 0;
}

static word trim(word w) {
    while (w.length > 0 && http1_blank((uint8_t)w.bytes[0])) w.bytes++, w.length--;
    while (w.length > 0 && http1_blank((uint8_t)w.bytes[w.length - 1])) w.length--;
    return w;
}

/* Returns whether the field is connection-specific, or sent as a pseudo-header. */
static bool is_omitted(word name, word value) {
    static const char *const names[] = {"connection",       "host",    "keep-alive",
                                        "proxy-connection", "upgrade", "http2-settings",
                                        "transfer-encoding"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (http1_same((const uint8_t *)name.bytes, name.length, names[i], strlen(names[i])))
            return true;
    return IS(name, "te") && !IS(value, "trailers");
}

/* Returns whether the field must not be indexed, because the sizes of later requests would then
 * reveal its value (RFC 7541 7.1). */
static bool is_sensitive(word name) {
    return IS(name, "authorization") || IS(name, "cookie") || IS(name, "proxy-authorization");
}

/* Makes room for one header per line of the head, and five more. */
static bool reserve(http2 *h, word head) {
    size_t wanted = 5;
    for (word line; next_word(&head, '\n', &line);) wanted++;
    if (wanted <= h->header_capacity) return true;
    nghttp2_nv *grown = realloc(h->header_list, wanted * sizeof(*grown));
    if (grown == NULL) return false;
    h->header_list = grown;
    h->header_capacity = wanted;
    return true;
}

static void put(nghttp2_nv **at, word name, word value, uint8_t flags) {
    *(*at)++ = (nghttp2_nv){(uint8_t *)name.bytes, (uint8_t *)value.bytes, name.length,
                            value.length, flags};
}

#define PUT(at, literal, value) \
    put(at, (word){literal, sizeof(literal) - 1}, value, NGHTTP2_NV_FLAG_NONE)

/* Returns the value of a field; "" when there is none. */
static word value_of(word fields, const char *wanted) {
    for (word line, name; next_line(&fields, &line);)
        if (next_word(&line, ':', &name) &&
            http1_same((const uint8_t *)name.bytes, name.length, wanted, strlen(wanted)))
            return trim(line);
    return (word){"", 0};
}

static word without_scheme_and_host(word target) {
    for (size_t i = 0; i + 2 < target.length && target.bytes[0] != '/'; i++) {
        if (memcmp(target.bytes + i, "://", 3) != 0) continue;
        const char *from = target.bytes + i + 3, *end = target.bytes + target.length;
        const char *path = memchr(from, '/', (size_t)(end - from));
        return path == NULL ? (word){"/", 1} : (word){path, (size_t)(end - path)};
    }
    return target;
}

/* Fills h->header_list, which must have room, and stores in *connects whether the request is an
 * extended CONNECT. Returns the number of headers; 0 when the head is malformed. */
static size_t translate(http2 *h, const char *scheme, word head, bool *connects) {
    nghttp2_nv *at = h->header_list;
    word line, method, target;
    if (!next_line(&head, &line) || !next_word(&line, ' ', &method)) return 0;
    if (!next_word(&line, ' ', &target)) return 0;
    word host = value_of(head, "host"), protocol = value_of(head, "upgrade");
    *connects = IS(protocol, "websocket");
    PUT(&at, ":method", *connects ? ((word){"CONNECT", 7}) : method);
    if (*connects) PUT(&at, ":protocol", protocol);
    if (IS(method, "CONNECT")) {
        PUT(&at, ":authority", target);
    } else {
        PUT(&at, ":scheme", ((word){scheme, strlen(scheme)}));
        if (host.length > 0) PUT(&at, ":authority", host);
        PUT(&at, ":path", without_scheme_and_host(target));
    }
    for (word name; next_line(&head, &line);) {
        if (!next_word(&line, ':', &name)) return 0;
        word value = trim(line);
        if (is_omitted(name, value) || (*connects && IS(name, "sec-websocket-key"))) continue;
        put(&at, name, value, is_sensitive(name) ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE);
    }
    return (size_t)(at - h->header_list);
}

http2_stream *http2_request(http2 *h, const char *scheme, const char *head, size_t head_length,
                            bool body, bool head_request, const http1_limits *limits, void *owner) {
    word whole = {head, head_length};
    if (http2_room(h) == 0 || !reserve(h, whole)) return NULL;
    bool connects;
    size_t count = translate(h, scheme, whole, &connects);
    uint32_t window;
    if (count == 0 || !http2_window_reserve(h, &window)) return NULL;
    http2_stream *s = http2_stream_new(h, window);
    if (s == NULL) return NULL;
    s->owner = owner;
    s->limits = limits;
    s->head_request = head_request;
    s->connects = connects;
    s->wants_body = body;
    s->body_ended = !body;
    http2_provider provider = http2_body_of(s);
    s->id =
        http2_library_request(h->session, NULL, h->header_list, count, body ? &provider : NULL, s);
    if (s->id < 0) {
        http2_stream_free(h, s);
        http2_check_result(h, s->id);
        return NULL;
    }
    h->open++;
    return s;
}

#endif

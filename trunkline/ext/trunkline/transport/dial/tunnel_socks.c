#include "tunnel_internal.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* SOCKS 5 (RFC 1928), with user and password (RFC 1929). No byte after a reply is read, because it
 * would belong to the server. */

enum { AWAIT_METHOD, AWAIT_STATUS, AWAIT_REPLY };
enum { METHOD_NONE = 0, METHOD_PASSWORD = 2, METHOD_REFUSED = 0xFF };
enum { ADDRESS_IPV4 = 1, ADDRESS_NAME = 3, ADDRESS_IPV6 = 4 };

#define VERSION 5
#define FIELD_MOST 255 /* each length is one byte */

static const char *reply_words(uint8_t reply) {
    static const char *const words[] = {
        "it succeeded",
        "general SOCKS server failure",
        "connection not allowed by its rules",
        "network unreachable",
        "host unreachable",
        "connection refused",
        "TTL expired",
        "command not supported",
        "address type not supported",
    };
    return reply < sizeof(words) / sizeof(words[0]) ? words[reply] : "an unknown SOCKS error";
}

static bool put(tunnel *t, const void *bytes, size_t count, failure *f) {
    return buffer_append(&t->out, bytes, count) ||
           failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_CONNECT, 0, NULL);
}

static bool put_byte(tunnel *t, uint8_t byte, failure *f) {
    return put(t, &byte, 1, f);
}

static bool put_counted(tunnel *t, const char *text, failure *f) {
    size_t length = strlen(text);
    return put_byte(t, (uint8_t)length, f) && put(t, text, length, f);
}

/* ---- sending ---- */

static bool fits(tunnel *t, const char *what, const char *text, failure *f) {
    if (text == NULL || (text[0] != '\0' && strlen(text) <= FIELD_MOST)) return true;
    tunnel_fail(t, f, "SOCKS takes a %s of 1 to %d bytes; this one has %zu, and nothing was sent",
                what, FIELD_MOST, strlen(text));
    return false;
}

bool socks_begin(tunnel *t, failure *f) {
    const proxy *p = t->route->proxy;
    if (!fits(t, "host name", t->route->host, f) || !fits(t, "user", p->user, f) ||
        !fits(t, "password", p->password, f))
        return false;
    const uint8_t plain[] = {VERSION, 1, METHOD_NONE};
    const uint8_t either[] = {VERSION, 2, METHOD_NONE, METHOD_PASSWORD};
    t->stage = AWAIT_METHOD;
    return p->user != NULL ? put(t, either, sizeof(either), f) : put(t, plain, sizeof(plain), f);
}

static bool put_endpoint(tunnel *t, const struct sockaddr_storage *address, failure *f) {
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        return put_byte(t, ADDRESS_IPV6, f) && put(t, &v6->sin6_addr, sizeof(v6->sin6_addr), f);
    }
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    return put_byte(t, ADDRESS_IPV4, f) && put(t, &v4->sin_addr, sizeof(v4->sin_addr), f);
}

static bool put_literal(tunnel *t, const char *host, failure *f) {
    uint8_t address[16];
    if (inet_pton(AF_INET, host, address) == 1)
        return put_byte(t, ADDRESS_IPV4, f) && put(t, address, 4, f);
    if (inet_pton(AF_INET6, host, address) == 1)
        return put_byte(t, ADDRESS_IPV6, f) && put(t, address, 16, f);
    return put_byte(t, ADDRESS_NAME, f) && put_counted(t, host, f);
}

static bool put_request(tunnel *t, failure *f) {
    const uint8_t connect[] = {VERSION, 1, 0};
    uint16_t port = htons(t->route->port);
    bool resolved = t->route->proxy->kind == PROXY_SOCKS5;
    t->stage = AWAIT_REPLY;
    return put(t, connect, sizeof(connect), f) &&
           (resolved ? put_endpoint(t, &t->target.address, f)
                     : put_literal(t, t->route->host, f)) &&
           put(t, &port, sizeof(port), f);
}

static bool put_credentials(tunnel *t, failure *f) {
    const proxy *p = t->route->proxy;
    t->stage = AWAIT_STATUS;
    return put_byte(t, 1, f) && put_counted(t, p->user, f) && put_counted(t, p->password, f);
}

/* ---- receiving ---- */

/* Reads until `in` has `count` bytes, and no more. */
static io_result need(tunnel *t, size_t count, failure *f) {
    while (buffer_length(&t->in) < count) {
        io_result result = tunnel_fill(t, count, f);
        if (result != IO_DONE) return result;
    }
    return IO_DONE;
}

static io_result next(bool written) {
    return written ? IO_WAIT : IO_FAILED;
}

static io_result take_method(tunnel *t, failure *f) {
    const uint8_t *bytes = buffer_head(&t->in);
    uint8_t version = bytes[0], method = bytes[1];
    bool has_password = t->route->proxy->user != NULL;
    buffer_consume(&t->in, 2);
    if (version != VERSION)
        return tunnel_fail(t, f, "what it says is not SOCKS 5 (version %u)", version);
    if (method == METHOD_NONE) return next(put_request(t, f));
    if (method == METHOD_PASSWORD && has_password) return next(put_credentials(t, f));
    if (method == METHOD_REFUSED) {
        return tunnel_fail(t, f,
                           has_password ? "it takes neither a password nor none"
                                        : "it wants a user and a password");
    }
    return tunnel_fail(t, f, "it chose authentication %u, which was not offered", method);
}

static io_result take_status(tunnel *t, failure *f) {
    uint8_t status = buffer_head(&t->in)[1];
    buffer_consume(&t->in, 2);
    return status == 0 ? next(put_request(t, f))
                       : tunnel_fail(t, f, "it did not accept the user and password");
}

/* The reply ends with the bound address, which is not used; the address type determines its
 * length. */
static io_result take_reply(tunnel *t, failure *f) {
    const uint8_t *bytes = buffer_head(&t->in);
    if (bytes[0] != VERSION || bytes[2] != 0) return tunnel_fail(t, f, "its reply is malformed");
    if (bytes[1] != 0)
        return tunnel_fail(t, f, "%s (SOCKS reply %u)", reply_words(bytes[1]), bytes[1]);
    size_t address;
    switch (bytes[3]) {
    case ADDRESS_IPV4: address = 4; break;
    case ADDRESS_IPV6: address = 16; break;
    case ADDRESS_NAME: address = 1 + (size_t)bytes[4]; break;
    default: return tunnel_fail(t, f, "its reply has an address of unknown type %u", bytes[3]);
    }
    return need(t, 4 + address + 2, f);
}

io_result socks_step(tunnel *t, failure *f) {
    io_result result = need(t, t->stage == AWAIT_REPLY ? 5 : 2, f);
    if (result != IO_DONE) return result;
    switch (t->stage) {
    case AWAIT_METHOD: return take_method(t, f);
    case AWAIT_STATUS: return take_status(t, f);
    default: return take_reply(t, f);
    }
}

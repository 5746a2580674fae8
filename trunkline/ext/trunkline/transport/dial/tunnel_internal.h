#ifndef TRUNKLINE_TRANSPORT_DIAL_TUNNEL_INTERNAL_H
#define TRUNKLINE_TRANSPORT_DIAL_TUNNEL_INTERNAL_H

#include "tunnel.h"

/* Shared by the tunnel's files: tunnel.c reads and writes bytes, tunnel_connect.c and
 * tunnel_socks.c implement the protocols. */
struct tunnel {
    const route *route;
    const call_options *options;
    socket_io socket;
    endpoint target;  /* PROXY_SOCKS5: the server's address */
    buffer out, in;   /* owned */
    int stage;        /* the state of the protocol */
    refusal *refused; /* owned; the response to CONNECT, with any status */
    bool refusing;    /* the status is a refusal: the body is being read */
};

/* Reads into `in`, up to `most` bytes in total. Returns IO_DONE when bytes arrived, IO_READ,
 * IO_WRITE, or IO_FAILED after an error or the end of the connection. In a refusal's body these are
 * IO_END. */
io_result tunnel_fill(tunnel *t, size_t most, failure *f);

/* Fills in FAILURE_PROXY with "proxy proxy.test:3128: ..."; returns IO_FAILED. */
io_result tunnel_fail(const tunnel *t, failure *f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The _begin functions write the first message to `out`, and return false with *f on failure. The
 * _step functions parse `in` and return IO_DONE (the tunnel is open), IO_WAIT (call again after
 * `out` is written), IO_READ, IO_WRITE or IO_FAILED. */
bool connect_begin(tunnel *t, failure *f);
io_result connect_step(tunnel *t, failure *f);
bool socks_begin(tunnel *t, failure *f);
io_result socks_step(tunnel *t, failure *f);

/* Fills in FAILURE_PROXY_REFUSED from the response; returns IO_FAILED. */
io_result connect_refused(tunnel *t, failure *f);

#endif

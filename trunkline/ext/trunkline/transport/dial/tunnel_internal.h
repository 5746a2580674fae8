#ifndef TRUNKLINE_TRANSPORT_DIAL_TUNNEL_INTERNAL_H
#define TRUNKLINE_TRANSPORT_DIAL_TUNNEL_INTERNAL_H

#include "tunnel.h"

/* For the tunnel's own files: tunnel.c reads and writes bytes, tunnel_connect.c and tunnel_socks.c
 * speak the protocols. */
struct tunnel {
    const route *route;
    const call_options *options;
    socket_io socket;
    endpoint target;  /* PROXY_SOCKS5: the server's address */
    buffer out, in;   /* owned */
    int stage;        /* the protocol's own */
    refusal *refused; /* owned; the response to CONNECT, of whatever status */
    bool refusing;    /* its status refuses: its body is being read */
};

/* Reads into `in`, up to `most` bytes in all. Returns IO_DONE when bytes came, IO_READ, IO_WRITE,
 * or IO_FAILED, also for the end of the connection; but IO_END for that in a refusal's body. */
io_result tunnel_fill(tunnel *t, size_t most, failure *f);

/* "the proxy proxy.test:3128: ..." */
io_result tunnel_fail(const tunnel *t, failure *f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* _begin writes the first message to `out`, and returns false with *f. _step parses `in` and
 * returns IO_DONE (the tunnel is open), IO_WAIT (call again after `out` is written), IO_READ,
 * IO_WRITE or IO_FAILED. */
bool connect_begin(tunnel *t, failure *f);
io_result connect_step(tunnel *t, failure *f);
bool socks_begin(tunnel *t, failure *f);
io_result socks_step(tunnel *t, failure *f);

/* Fills in FAILURE_PROXY_REFUSED from the response; returns IO_FAILED. */
io_result connect_refused(tunnel *t, failure *f);

#endif

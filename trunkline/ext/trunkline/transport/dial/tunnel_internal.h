#ifndef TRUNKLINE_TRANSPORT_DIAL_TUNNEL_INTERNAL_H
#define TRUNKLINE_TRANSPORT_DIAL_TUNNEL_INTERNAL_H

#include "tunnel.h"

/*
 * What the parts of a tunnel know of each other: tunnel.c moves the bytes, tunnel_connect.c and
 * tunnel_socks.c know what they mean.
 */
struct tunnel {
    const route *route;
    const call_options *options;
    socket_io socket;
    endpoint target;  /* of SOCKS 5, when the name is resolved here */
    buffer out, in;   /* owned */
    int stage;        /* the protocol's own */
    refusal *refused; /* owned; the answer to CONNECT, whatever it will be */
    bool refusing;    /* it is known to be one: what is left to read is its body */
};

/* Reads into `in` what is there, up to `most` bytes in all: IO_DONE when something came. The end of
 * the connection is a failure, and IO_END when the refusal's body is being read. */
io_result tunnel_fill(tunnel *t, size_t most, failure *f);

/* "the proxy proxy.test:3128: ..." */
io_result tunnel_fail(const tunnel *t, failure *f, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Each of them: _begin writes the first message to `out`; _step takes `in` apart and says IO_DONE
 * (open), IO_WAIT (go on: there is something to write, or more to take apart), IO_READ, IO_WRITE,
 * IO_FAILED. */
bool connect_begin(tunnel *t, failure *f);
io_result connect_step(tunnel *t, failure *f);
bool socks_begin(tunnel *t, failure *f);
io_result socks_step(tunnel *t, failure *f);

/* Fills in FAILURE_PROXY_REFUSED from the answer. */
io_result connect_refused(tunnel *t, failure *f);

#endif

#ifndef TRUNKLINE_TRANSPORT_DIAL_TUNNEL_H
#define TRUNKLINE_TRANSPORT_DIAL_TUNNEL_H

#include "transport/names/resolve.h"
#include "transport/common/options.h"
#include "transport/tls/socket_io.h"

#include "protocol/buffer.h"

/*
 * What is said to a proxy until the way to the server is open: CONNECT (RFC 9110, section 9.3.6),
 * or SOCKS 5 (RFC 1928, 1929). A state machine that never blocks.
 */
typedef struct tunnel tunnel;

/* What an HTTP proxy answered instead of opening the way. */
typedef struct {
    http1_response answer; /* its offsets are into `head` */
    uint8_t *head;         /* owned */
    buffer body;           /* the first of it, TUNNEL_BODY_BYTES at most */
} refusal;

#define TUNNEL_BODY_BYTES (16 * 1024)

/* `r`, `options` and what `socket` holds are borrowed. `target`: the server's address, for
 * PROXY_SOCKS5 alone. NULL: see `f` (what does not fit into SOCKS is refused here, before anything
 * is sent). */
tunnel *tunnel_new(const route *r, const call_options *options, socket_io socket,
                   const endpoint *target, failure *f);

/* IO_DONE: what is written from now on goes to the server. IO_READ, IO_WRITE; IO_FAILED. */
io_result tunnel_step(tunnel *t, failure *f);

/* The time is over. An HTTP proxy that has refused, but not to the end, has refused. */
void tunnel_too_late(tunnel *t, const char *asked, failure *f);

/* After FAILURE_PROXY_REFUSED: the refusal, the caller's from now on. Else NULL. */
refusal *tunnel_refusal(tunnel *t);
void refusal_free(refusal *r); /* NULL is fine */

void tunnel_free(tunnel *t); /* NULL is fine */

#endif

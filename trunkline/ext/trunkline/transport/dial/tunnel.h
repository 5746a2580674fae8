#ifndef TRUNKLINE_TRANSPORT_DIAL_TUNNEL_H
#define TRUNKLINE_TRANSPORT_DIAL_TUNNEL_H

#include "transport/names/resolve.h"
#include "transport/common/options.h"
#include "transport/tls/socket_io.h"

#include "protocol/buffer.h"

/*
 * Opens a tunnel through a proxy: CONNECT (RFC 9110, section 9.3.6) or SOCKS 5 (RFC 1928, 1929). A
 * state machine that never blocks.
 */
typedef struct tunnel tunnel;

/* An HTTP proxy's response that refuses CONNECT. */
typedef struct {
    http1_response response; /* its offsets are into `head` */
    uint8_t *head;           /* owned */
    buffer body;             /* owned; the first TUNNEL_BODY_BYTES of its body */
} refusal;

#define TUNNEL_BODY_BYTES (16 * 1024)

/* `r`, `options`, and the descriptor and session of `socket` are borrowed. `target` is the server's
 * address for PROXY_SOCKS5, else NULL; copied. Returns NULL with *f when out of memory, or when a
 * name or password cannot be sent in the proxy's protocol. */
tunnel *tunnel_new(const route *r, const call_options *options, socket_io socket,
                   const endpoint *target, failure *f);

/* Returns IO_DONE when the tunnel is open, IO_READ or IO_WRITE for what to wait for, or IO_FAILED
 * with *f. */
io_result tunnel_step(tunnel *t, failure *f);

/* Fills in *f after a timeout: FAILURE_CONNECT_TIMEOUT, or FAILURE_PROXY_REFUSED when the head of a
 * refusal has arrived. */
void tunnel_timed_out(tunnel *t, const char *limit, failure *f);

/* After FAILURE_PROXY_REFUSED returns the refusal, owned by the caller; otherwise NULL. */
refusal *tunnel_refusal(tunnel *t);
void refusal_free(refusal *r); /* NULL is fine */

void tunnel_free(tunnel *t); /* NULL is fine */

#endif

#ifndef TRUNKLINE_TRANSPORT_DIAL_DIAL_H
#define TRUNKLINE_TRANSPORT_DIAL_DIAL_H

#include "transport/common/io_result.h"
#include "transport/names/resolve.h"
#include "transport/common/options.h"
#include "transport/tls/tls.h"
#include "tunnel.h"
#include "transport/events/waker.h"

#include <poll.h>

/*
 * Opens a connection for a route: resolves the name, connects (RFC 8305), opens a tunnel through a
 * proxy, does the TLS handshake. A state machine that never blocks: dial_step advances it,
 * dial_wait returns what to wait for. Each phase has its own timeout; CONNECT or SOCKS with a proxy
 * belongs to the phase connect, TLS with a proxy to the phase tls.
 */
typedef struct dial dial;

/* A dial's result; the caller owns descriptor and session. */
typedef struct {
    int descriptor;
    tls *session; /* NULL: plain */
    struct sockaddr_storage peer;
    socklen_t peer_length;
    nanoseconds resolved_in; /* -1: no look-up was needed (a literal, a path, the cache) */
    nanoseconds connected_in;
    nanoseconds secured_in; /* includes TLS with a proxy; -1: no TLS */
} dialled;

#define DIAL_MAX_ATTEMPTS 8 /* connect attempts under way at once */

/* `r`, `options` and `w` are borrowed until dial_free. Returns NULL when out of memory. */
dial *dial_new(const route *r, const call_options *options, waker *w, nanoseconds now);

/* Advances the dial as far as possible. Returns IO_DONE with *out filled in, IO_WAIT (see
 * dial_wait), or IO_FAILED: see *f, whose detail names each address with its error ("127.0.0.1:81:
 * Connection refused; [::1]:81: ..."). */
io_result dial_step(dial *d, nanoseconds now, dialled *out, failure *f);

/* Returns what to wait for: fills at most `room` (>= DIAL_MAX_ATTEMPTS) entries and returns how
 * many; the waker is not among them. *deadline is when to step even without an event. */
int dial_wait(const dial *d, struct pollfd *entries, int room, nanoseconds *deadline);

call_phase dial_phase(const dial *d); /* PHASE_RESOLVE, PHASE_CONNECT or PHASE_TLS */

/* After FAILURE_PROXY_REFUSED returns the proxy's response, owned by the caller; otherwise NULL. */
refusal *dial_refusal(dial *d);

/* Returns whether the dial waits for a name look-up, whose end wakes the waker. */
bool dial_is_resolving(const dial *d);

void dial_free(dial *d); /* closes what is open; NULL is fine */

#endif

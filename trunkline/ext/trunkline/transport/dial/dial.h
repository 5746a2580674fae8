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
 * From a route to a connection that is ready: resolve, connect (happy eyeballs, RFC 8305), a proxy,
 * TLS. A state machine that never blocks: dial_step moves it, dial_wait says what for and how long
 * to wait. Each phase has its own timeout; what is said to a proxy counts as connect, TLS with it
 * as tls.
 */
typedef struct dial dial;

/* What a dial yields; the caller owns both. */
typedef struct {
    int descriptor;
    tls *session; /* NULL: plain */
    struct sockaddr_storage peer;
    socklen_t peer_length;
    nanoseconds resolved_in; /* -1: there was nothing to ask (a literal, a path, the cache) */
    nanoseconds connected_in;
    nanoseconds secured_in; /* with all proxies'; -1: plain */
} dialled;

#define DIAL_MAX_ATTEMPTS 8 /* connects that are under way at once */

/* `r` and `options` are borrowed until dial_free. NULL: no memory. */
dial *dial_new(const route *r, const call_options *options, waker *w, nanoseconds now);

/* IO_DONE: `out` is filled in. IO_WAIT: see dial_wait. IO_FAILED: see `f`; with several addresses
 * the detail names each with its error ("127.0.0.1:81: Connection refused; [::1]:81: ..."). */
io_result dial_step(dial *d, nanoseconds now, dialled *out, failure *f);

/* What to poll for: fills at most `room` (>= DIAL_MAX_ATTEMPTS) entries and returns how many (the
 * waker is not among them); *deadline: when to step in any case. */
int dial_wait(const dial *d, struct pollfd *entries, int room, nanoseconds *deadline);

call_phase dial_phase(const dial *d); /* RESOLVE, CONNECT or TLS: where it stands */

/* After FAILURE_PROXY_REFUSED: what the proxy said, the caller's from now on. Else NULL. */
refusal *dial_refusal(dial *d);

/* Does it wait for an address, of which its waker tells? */
bool dial_looks_up(const dial *d);

void dial_free(dial *d); /* closes what is under way; NULL is fine */

#endif

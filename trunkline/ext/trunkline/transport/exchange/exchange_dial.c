#include "transport/events/descriptors.h"
#include "exchange_internal.h"

#include <errno.h>
#include <string.h>

/* The state EXCHANGE_DIALLING. */

/* Starts a new dial when the dial failed because no descriptor was left and idle connections could
 * be closed. The resolver does not report that reason, so descriptors_exhausted checks for it. */
static bool tries_again(exchange *x, nanoseconds now) {
    failure *why = &x->why;
    if (why->phase == PHASE_RESOLVE && descriptors_exhausted())
        failure_set(why, FAILURE_CONNECT, PHASE_RESOLVE, errno, "%s", strerror(errno));
    if (!descriptors_scarce(why->system_error) || !pool_make_room()) return false;
    dial *another = dial_new(x->request.to, x->request.options, x->waker, now);
    if (another == NULL) return false;
    dial_free(x->dialling);
    x->dialling = another;
    why->code = FAILURE_NONE;
    return true;
}

io_result exchange_dial(exchange *x, nanoseconds now, dialled *d) {
    io_result result;
    do {
        result = dial_step(x->dialling, now, d, &x->why);
    } while (result == IO_FAILED && tries_again(x, now));
    return result;
}

bool exchange_share(const exchange *x, connection *c) {
    const char *chosen = c->session != NULL ? tls_protocol(c->session) : NULL;
    bool http2 = chosen != NULL ? strcmp(chosen, "h2") == 0
                                : c->session == NULL && x->request.to->sharing == SHARING_ALWAYS;
    if (!http2 || http2_connection_begin(c)) return true;
    connection_free(c, false);
    return false;
}

#include "pool.h"
#include "protocol/guard.h"
#include "transport/http2/http2_connection.h"

/* Functions that differ between connections for one call at a time and shared ones. */

bool pool_connection_usable(connection *c, nanoseconds max_age, event_loop *l, nanoseconds now) {
    bool young = !GUARD(MAX_AGE) || now < connection_due(c, max_age);
    if (c->http2 == NULL)
        return young && (!GUARD(CHECK_BEFORE_REUSE) || connection_check_alive(c, l, now));
    if (!young) http2_connection_retire(c->http2);
    return young && http2_connection_check_alive(c->http2);
}

void pool_connection_close(connection *c, bool notify) {
    if (c->http2 == NULL) {
        connection_free(c, notify);
        return;
    }
    if (notify) http2_connection_send_goaway(c->http2);
    http2_connection_release(c->http2);
}

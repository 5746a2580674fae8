#include "protocol/budget.h"
#include "exchange_internal.h"

/* The wait of a call for a connection or a stream. */

const char *exchange_why_queued(exchange *x) {
    if (x->state == EXCHANGE_QUEUED) return pool_why_waiting(x->pool, &x->ticket);
    bool wants_stream = x->state == EXCHANGE_TALKING && x->phase == PHASE_QUEUE;
    return wants_stream && budget_used() + http2_default_limits.narrow_window > budget_limit()
               ? "as much of answers may lie unread as max_buffered_bytes allows the process"
               : NULL;
}

#define COLLECT_AFTER (200 * MILLISECOND)

void exchange_begin_wait(exchange *x, nanoseconds now) {
    x->waits_since = now;
    x->collect_at = now + COLLECT_AFTER;
}

bool exchange_wants_collection(exchange *x, nanoseconds now) {
    if (now < x->collect_at) return false;
    bool wants = exchange_any_held_by_caller();
    x->collect_at = wants ? NEVER : now + COLLECT_AFTER;
    return wants;
}

bool exchange_needs_step(const exchange *x) {
    switch (x->state) {
    case EXCHANGE_QUEUED: return pool_turn_due(x->pool, &x->ticket);
    case EXCHANGE_DIALLING: return dial_is_resolving(x->dialling);
    case EXCHANGE_TALKING: return exchange_has_input(x);
    default: return false;
    }
}

#include "exchange_internal.h"

/* The timeouts of a call's phases and of the whole call, and the events that a call waits for. */

void exchange_phase(exchange *x, call_phase phase, nanoseconds now) {
    x->phase = phase;
    x->deadline = clock_after(now, x->request.options->timeouts[phase]);
}

static failure_code timeout_code(call_phase phase) {
    static const failure_code codes[PHASE_COUNT] = {
        [PHASE_QUEUE] = FAILURE_QUEUE_TIMEOUT,     [PHASE_RESOLVE] = FAILURE_RESOLVE_TIMEOUT,
        [PHASE_CONNECT] = FAILURE_CONNECT_TIMEOUT, [PHASE_TLS] = FAILURE_TLS_TIMEOUT,
        [PHASE_WRITE] = FAILURE_WRITE_TIMEOUT,     [PHASE_FIRST_BYTE] = FAILURE_FIRST_BYTE_TIMEOUT,
        [PHASE_READ] = FAILURE_READ_TIMEOUT,
    };
    return codes[phase];
}

nanoseconds exchange_continue_deadline(const exchange *x) {
    bool head_sent = x->http2 || x->segment_sent == x->segment_length;
    bool waits = x->state == EXCHANGE_TALKING && x->awaits_continue && head_sent;
    return waits ? clock_after(x->sending_began, x->request.options->expect) : NEVER;
}

step_result exchange_check_timeouts(exchange *x, nanoseconds now) {
    if (now >= x->total_deadline) {
        x->allowed = x->total_deadline - x->began;
        return exchange_fail(x, FAILURE_TOTAL_TIMEOUT, NULL, 0);
    }
    if (x->state != EXCHANGE_DIALLING && now >= x->deadline) {
        x->allowed = x->request.options->timeouts[x->phase];
        return exchange_fail(x, timeout_code(x->phase), exchange_why_queued(x), 0);
    }
    return STEP_WAIT;
}

bool exchange_write_is_late(const exchange *x, nanoseconds now) {
    return x->state == EXCHANGE_TALKING && x->phase == PHASE_WRITE && (x->events & POLLOUT) &&
           now >= x->deadline;
}

int exchange_wait(const exchange *x, struct pollfd *entries, int room, nanoseconds *deadline) {
    nanoseconds own = clock_earlier(x->deadline, exchange_continue_deadline(x));
    if (x->again) own = 0;
    if (x->state == EXCHANGE_QUEUED) own = clock_earlier(own, x->collect_at);
    bool dials = x->state == EXCHANGE_DIALLING;
    int count = dials ? dial_wait(x->dialling, entries, room, &own) : 0;
    *deadline = clock_earlier(own, x->total_deadline);
    if (x->state != EXCHANGE_TALKING) return count;
    short events = x->events;
    if (x->http2) {
        events = __atomic_load_n(&x->call.events, __ATOMIC_ACQUIRE);
        *deadline = clock_earlier(*deadline, x->wake_at);
    }
    entries[0] = (struct pollfd){.fd = x->connection->descriptor, .events = events};
    return events != 0;
}

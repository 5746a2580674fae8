#include "exchange.h"
#include "transport/events/portable.h"

#include <errno.h>

/*
 * A server on the same machine responds faster than a thread goes to sleep and is woken. With
 * busy_poll a call therefore polls for that time before it sleeps, if it is the only call under way
 * and the connection's last response came within that time. While other calls are under way it
 * sleeps at once.
 */
nanoseconds exchange_busy_poll_until(const exchange *x) {
    nanoseconds span = x->request.options->busy_poll;
    bool response_is_due = x->state == EXCHANGE_TALKING && x->phase == PHASE_FIRST_BYTE;
    if (!response_is_due || !exchange_is_only_one() || !connection_is_quick(x->connection, span))
        return 0;
    return clock_earlier(x->sent_at + span, x->deadline);
}

static int busy_poll(const exchange *x, struct pollfd *entries, nfds_t count) {
    nanoseconds until = exchange_busy_poll_until(x);
    bool late = false;
    int ready = 0;
    if (until == 0) return 0;
    while (ready == 0 && !late && exchange_is_only_one()) {
        ready = portable_poll(entries, count, 0);
        late = ready == 0 && clock_now() >= until;
    }
    connection_note_busy_poll(x->connection, late);
    return ready;
}

bool exchange_wait_briefly(exchange *x, nanoseconds span) {
    bool response_is_due =
        x->state == EXCHANGE_TALKING && x->phase == PHASE_FIRST_BYTE && !x->http2;
    if (!response_is_due || !connection_is_quick(x->connection, span)) return false;
    struct pollfd entries[DIAL_MAX_ATTEMPTS];
    nanoseconds deadline;
    int count = exchange_wait(x, entries, DIAL_MAX_ATTEMPTS, &deadline);
    nanoseconds left = clock_earlier(deadline - clock_now(), span);
    int ready = portable_poll(entries, (nfds_t)count, left > 0 ? left : 0);
    connection_note_busy_poll(x->connection, ready == 0);
    return ready > 0;
}

/*
 * A poll before each read is a tenth of the cost of a small call. A response that is likely to come
 * soon is therefore read by a recv that waits. Only the response wakes that recv, so it waits for a
 * short time only, and only when no deadline is near; a later response is polled for. A call over
 * HTTP/2 shares its connection, and must react to its waker.
 */
#define NO_DEADLINE_WITHIN (5 * CONNECTION_READ_WAIT)

bool exchange_may_wait_in_read(const exchange *x, nanoseconds now) {
    bool response_is_due = x->state == EXCHANGE_TALKING && x->phase == PHASE_FIRST_BYTE &&
                           !x->http2 && !x->again && x->events == POLLIN &&
                           x->request.options->busy_poll == 0;
    return response_is_due && connection_is_quick(x->connection, CONNECTION_READ_WAIT) &&
           now < x->sent_at + CONNECTION_READ_WAIT &&
           now + NO_DEADLINE_WITHIN < clock_earlier(x->deadline, x->total_deadline);
}

static bool wait_in_read(exchange *x) {
    x->read_waits =
        exchange_may_wait_in_read(x, clock_now()) && connection_wait_in_read(x->connection);
    return x->read_waits;
}

/* Waits for an event, the waker or the deadline; the next step finds out which. */
static void wait_for(const exchange *x, const stop_request *stop) {
    struct pollfd entries[DIAL_MAX_ATTEMPTS + 1];
    nanoseconds deadline;
    int count = exchange_wait(x, entries, DIAL_MAX_ATTEMPTS, &deadline);
    entries[count] = (struct pollfd){.fd = waker_descriptor(x->waker), .events = POLLIN};

    deadline = stop_wait_until(stop, deadline);
    int ready = busy_poll(x, entries, (nfds_t)count + 1);
    if (ready == 0) {
        nanoseconds left = deadline == NEVER ? NEVER : clock_nap(deadline, clock_now());
        ready = portable_poll(entries, (nfds_t)count + 1, left > 0 ? left : 0);
    }
    if (ready > 0 && entries[count].revents != 0) waker_clear(x->waker);
}

step_result exchange_drive(exchange *x, const stop_request *stop) {
    for (;;) {
        if (stop_requested(stop)) return STEP_WAIT;
        if (!wait_in_read(x)) {
            wait_for(x, stop);
            if (stop_requested(stop)) return STEP_WAIT;
        }
        step_result step = exchange_step(x, clock_now());
        if (step != STEP_WAIT) return step;
    }
}

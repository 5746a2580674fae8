#define _GNU_SOURCE /* ppoll */
#include "exchange.h"

#include <errno.h>

/* Waits for whatever is due first; what it was shows at the next step. */
static void wait_for(const exchange *x) {
    struct pollfd entries[DIAL_MAX_ATTEMPTS + 1];
    nanoseconds deadline;
    int count = exchange_wait(x, entries, DIAL_MAX_ATTEMPTS, &deadline);
    entries[count] = (struct pollfd){.fd = waker_descriptor(x->waker), .events = POLLIN};

    struct timespec span = {0, 0};
    if (deadline != NEVER && deadline > 0) {
        nanoseconds left = deadline - clock_now();
        if (left > 0) {
            span = (struct timespec){.tv_sec = left / SECOND, .tv_nsec = left % SECOND};
        }
    }
    if (ppoll(entries, (nfds_t)count + 1, deadline == NEVER ? NULL : &span, NULL) > 0 &&
        entries[count].revents != 0) {
        waker_clear(x->waker);
    }
}

step_result exchange_drive(exchange *x, volatile bool *interrupted) {
    for (;;) {
        if (*interrupted) {
            return STEP_WAIT;
        }
        wait_for(x);
        if (*interrupted) {
            return STEP_WAIT;
        }
        step_result step = exchange_step(x, clock_now());
        if (step != STEP_WAIT) {
            return step;
        }
    }
}

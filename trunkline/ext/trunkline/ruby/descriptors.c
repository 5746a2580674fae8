#include "engine.h"

#include "transport/events/descriptors.h"

#include <errno.h>
#include <string.h>

/* Creates objects that need a file descriptor before there is an exchange to report a failure. */

static void raise_out_of_resources(int error, VALUE request) {
    failure why;
    bool scarce = descriptors_scarce(error);
    failure_set(&why, scarce ? FAILURE_CONNECT : FAILURE_OUT_OF_MEMORY, PHASE_QUEUE, error, "%s",
                scarce ? strerror(error) : "");
    errors_raise_failure(&why, request);
}

waker *descriptors_waker(VALUE request) {
    waker *w;
    do {
        w = waker_take();
    } while (w == NULL && descriptors_scarce(errno) && pool_make_room());
    if (w == NULL) raise_out_of_resources(errno, request);
    return w;
}

exchange_loop *descriptors_exchange_loop(waker *w, VALUE request) {
    exchange_loop *p;
    do {
        p = exchange_loop_new(w);
    } while (p == NULL && descriptors_scarce(errno) && pool_make_room());
    if (p == NULL) raise_out_of_resources(errno, request);
    return p;
}

#define _GNU_SOURCE /* ppoll */
#include "portable.h"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

int portable_poll(struct pollfd *entries, nfds_t count, nanoseconds span) {
#if defined(HAVE_PPOLL) && !defined(TRUNKLINE_POLL)
    struct timespec exact = {.tv_sec = span / SECOND, .tv_nsec = span % SECOND};
    return ppoll(entries, count, span == NEVER ? NULL : &exact, NULL);
#else
    return poll(entries, count, clock_milliseconds(span));
#endif
}

#if defined(HAVE_PTHREAD_CONDATTR_SETCLOCK) && !defined(TRUNKLINE_POLL)

void portable_condition(pthread_cond_t *condition) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

bool portable_wait(pthread_cond_t *condition, pthread_mutex_t *lock, nanoseconds until) {
    struct timespec t = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
    return pthread_cond_timedwait(condition, lock, &t) == 0;
}

#else

void portable_condition(pthread_cond_t *condition) {
    pthread_cond_init(condition, NULL);
}

/* The condition variable uses CLOCK_REALTIME, which may be set meanwhile, so one wait lasts at most
 * this long. */
#define MAX_REALTIME_WAIT (1 * SECOND)

bool portable_wait(pthread_cond_t *condition, pthread_mutex_t *lock, nanoseconds until) {
    nanoseconds left = until - clock_now();
    nanoseconds span = left < 0 ? 0 : left > MAX_REALTIME_WAIT ? MAX_REALTIME_WAIT : left;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    nanoseconds end = t.tv_nsec + span;
    t.tv_sec += end / SECOND;
    t.tv_nsec = end % SECOND;
    return pthread_cond_timedwait(condition, lock, &t) == 0 || clock_now() < until;
}

#endif

static void make_quiet(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
}

bool portable_pipe(int ends[2]) {
    if (pipe(ends) != 0) return false;
    make_quiet(ends[0]);
    make_quiet(ends[1]);
    return true;
}

int portable_socket(int family) {
#if defined(SOCK_CLOEXEC) && defined(SOCK_NONBLOCK) && !defined(TRUNKLINE_POLL)
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
    int descriptor = socket(family, SOCK_STREAM, 0);
    if (descriptor >= 0) make_quiet(descriptor);
    return descriptor;
#endif
}

#if defined(__linux__) && !defined(TRUNKLINE_POLL)
bool portable_let_recv_wait(int descriptor, nanoseconds span) {
    struct timeval most = {.tv_sec = span / SECOND, .tv_usec = span % SECOND / 1000};
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 &&
           setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) == 0 &&
           fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0;
}
#else
bool portable_let_recv_wait(int descriptor, nanoseconds span) {
    (void)descriptor, (void)span;
    return false;
}
#endif

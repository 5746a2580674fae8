#include "arrival.h"

#include <string.h>
#include <sys/socket.h>

#if defined(__linux__) && defined(SO_TIMESTAMPNS) && !defined(TRUNKLINE_POLL)

void arrival_watch(int descriptor) {
    int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
}

/* Converts the kernel's timestamp, which is of CLOCK_REALTIME; that clock may have been set
 * meanwhile. */
static nanoseconds monotonic(const struct timespec *then) {
    struct timespec day;
    nanoseconds now = clock_now();
    clock_gettime(CLOCK_REALTIME, &day);
    nanoseconds ago = (nanoseconds)(day.tv_sec - then->tv_sec) * SECOND;
    ago += day.tv_nsec - then->tv_nsec;
    return ago > 0 && ago < now ? now - ago : now;
}

ssize_t arrival_recv(int descriptor, void *bytes, size_t length, int flags, arrival *a) {
    if (a != NULL) a->at = -1;
    if (a == NULL || !a->wanted) return recv(descriptor, bytes, length, flags);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec vector = {bytes, length};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(descriptor, &message, flags);
    const struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
        struct timespec then;
        memcpy(&then, CMSG_DATA(c), sizeof(then));
        a->at = monotonic(&then);
    }
    return got;
}

#else

void arrival_watch(int descriptor) {
    (void)descriptor;
}

ssize_t arrival_recv(int descriptor, void *bytes, size_t length, int flags, arrival *a) {
    if (a != NULL) a->at = -1;
    return recv(descriptor, bytes, length, flags);
}

#endif

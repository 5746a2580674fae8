#include "event_loop.h"
#include "portable.h"

#include "descriptors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef USE_EPOLL
#include <sys/epoll.h>
#endif

#define EVENTS_AT_ONCE 256
/* How long event_loop_quiet relies on one event_loop_wait. */
#define POLL_VALID_FOR (MILLISECOND / 2)

/* A watched descriptor, indexed by its number. */
typedef struct {
    void *user_data; /* NULL: not watched */
    uint64_t id;
    short events;
    bool unwanted; /* one event was ignored while ->user_data was NULL */
} watched;

struct event_loop {
    int epoll;           /* owned; -1: there is none */
    unsigned generation; /* of the process that opened it */
    int size;
    nanoseconds polled_at; /* when an event_loop_wait took all events; 0: the last one did not */
    watched *table;        /* owned */
};

static bool open_epoll(event_loop *l) {
    l->epoll = -1;
    l->generation = descriptors_generation();
#ifdef USE_EPOLL
    descriptors_lock();
    l->epoll = descriptors_note(epoll_create1(EPOLL_CLOEXEC));
    descriptors_unlock();
    return l->epoll >= 0;
#else
    return true;
#endif
}

event_loop *event_loop_new(void) {
    event_loop *l = calloc(1, sizeof(*l));
    if (l == NULL) return NULL;
    if (!open_epoll(l)) {
        int error = errno;
        free(l);
        errno = error;
        return NULL;
    }
    return l;
}

bool event_loop_inherited(const event_loop *l) {
    return l->generation != descriptors_generation();
}

bool event_loop_renew(event_loop *l) {
    if (l->size > 0) memset(l->table, 0, (size_t)l->size * sizeof(*l->table));
    return open_epoll(l);
}

void event_loop_free(event_loop *l) {
    if (l == NULL) return;
    if (!event_loop_inherited(l)) descriptors_close(l->epoll);
    free(l->table);
    free(l);
}

static bool reserve(event_loop *l, int descriptor) {
    if (descriptor < l->size) return true;
    int size = l->size ? l->size : 64;
    while (size <= descriptor) size *= 2;
    watched *table = realloc(l->table, (size_t)size * sizeof(*table));
    if (table == NULL) return false;
    memset(table + l->size, 0, (size_t)(size - l->size) * sizeof(*table));
    l->table = table;
    l->size = size;
    return true;
}

static watched *known(event_loop *l, int descriptor) {
    return descriptor >= 0 && descriptor < l->size ? &l->table[descriptor] : NULL;
}

int event_loop_descriptor(const event_loop *l) {
    return l->epoll;
}

void event_loop_ignore(event_loop *l, int descriptor, const void *user_data) {
    watched *w = known(l, descriptor);
    if (w != NULL && w->user_data == user_data) w->user_data = NULL;
}

static int milliseconds_until(nanoseconds until) {
    bool exact = until == NEVER || until == 0;
    return clock_milliseconds(exact ? until : clock_nap(until, clock_now()));
}

#ifdef USE_EPOLL

static bool epoll_register(event_loop *l, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0) return true;
    return errno == EEXIST && epoll_ctl(l->epoll, EPOLL_CTL_MOD, descriptor, &event) == 0;
}

bool event_loop_watch(event_loop *l, int descriptor, uint64_t id, short events, void *user_data) {
    if (!reserve(l, descriptor)) return false;
    watched *w = &l->table[descriptor];
    w->user_data = user_data;
    w->unwanted = false;
    if (id != 0 && w->id == id) return true;
    uint32_t wanted = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    if (id == 0) {
        wanted = (uint32_t)(events & POLLIN ? EPOLLIN : 0) |
                 (uint32_t)(events & POLLOUT ? EPOLLOUT : 0) | EPOLLONESHOT;
    }
    w->id = id;
    if (epoll_register(l, descriptor, wanted)) return true;
    w->id = 0;
    w->user_data = NULL;
    return false;
}

/* Handles an event of a descriptor that is not watched. A connection that another driver uses now
 * is removed from epoll, or each of its responses would wake this loop too. An idle connection
 * stays registered after one EPOLLOUT event, which epoll reports for bytes that were read before
 * epoll_wait was called. */
static void handle_unwatched_event(event_loop *l, watched *w, const struct epoll_event *event) {
    if (w != NULL && !w->unwanted && event->events == EPOLLOUT) {
        w->unwanted = true;
        return;
    }
    if (w != NULL) w->id = 0;
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, event->data.fd, NULL);
}

int event_loop_wait(event_loop *l, nanoseconds until, void **user_data, int room) {
    struct epoll_event events[EVENTS_AT_ONCE];
    int most = room < EVENTS_AT_ONCE ? room : EVENTS_AT_ONCE;
    int count = epoll_wait(l->epoll, events, most, milliseconds_until(until));
    int filled = 0;
    l->polled_at = count >= 0 && count < most ? clock_now() : 0;
    for (int i = 0; i < count; i++) {
        watched *w = known(l, events[i].data.fd);
        if (w == NULL || w->user_data == NULL) {
            handle_unwatched_event(l, w, &events[i]);
            continue;
        }
        user_data[filled++] = w->user_data;
        if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            w->id = 0; /* epoll reports the end of a connection once */
    }
    return filled;
}

bool event_loop_quiet(event_loop *l, int descriptor, uint64_t id, nanoseconds now) {
    const watched *w = known(l, descriptor);
    return w != NULL && w->id == id && w->user_data == NULL && now - l->polled_at < POLL_VALID_FOR;
}

#else

bool event_loop_quiet(event_loop *l, int descriptor, uint64_t id, nanoseconds now) {
    (void)l, (void)descriptor, (void)id, (void)now;
    return false;
}

bool event_loop_watch(event_loop *l, int descriptor, uint64_t id, short events, void *user_data) {
    if (!reserve(l, descriptor)) return false;
    l->table[descriptor] = (watched){.user_data = user_data, .id = id, .events = events};
    return true;
}

int event_loop_wait(event_loop *l, nanoseconds until, void **user_data, int room) {
    struct pollfd *entries = calloc((size_t)l->size + 1, sizeof(*entries));
    if (entries == NULL) return 0;
    nfds_t count = 0;
    for (int fd = 0; fd < l->size; fd++)
        if (l->table[fd].user_data != NULL)
            entries[count++] = (struct pollfd){.fd = fd, .events = l->table[fd].events};
    int filled = 0;
    if (poll(entries, count, milliseconds_until(until)) > 0) {
        for (nfds_t i = 0; i < count && filled < room; i++) {
            if (entries[i].revents == 0) continue;
            watched *w = &l->table[entries[i].fd];
            user_data[filled++] = w->user_data;
            w->user_data = w->id == 0 ? NULL : w->user_data;
        }
    }
    free(entries);
    return filled;
}

#endif

#include "waker.h"
#include "portable.h"

#include "descriptors.h"
#include "protocol/list.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef USE_EPOLL
#include <sys/epoll.h>
#endif
#if defined(HAVE_EVENTFD) && !defined(TRUNKLINE_POLL)
#define USE_EVENTFD 1
#include <sys/eventfd.h>
#endif

/* Enough for the callers that wait at the same time; further wakers are made and closed as
 * needed. */
#define FREE_LIST_LIMIT 64

#define UNOPENED UINT_MAX /* the generation of a waker without descriptors */

struct waker {
    int descriptor; /* the descriptor to poll */
    int trigger;    /* the descriptor to write to: the same, or the write end of a pipe */
    int both;       /* an epoll instance with ->descriptor and ->other; -1: not made yet */
    int other;      /* see waker_with; -1: none */
    unsigned references;
    unsigned generation; /* of the process that opened the descriptors (atomic) */
    bool woken;
    bool marked, away; /* atomic */
    list_node node;    /* in the free list */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static list free_list;
static unsigned free_count;

#ifdef USE_EVENTFD
static void open_both_ends(waker *w) {
    w->descriptor = w->trigger = descriptors_note(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}
#else
static void open_both_ends(waker *w) {
    int ends[2];
    if (!portable_pipe(ends)) return;
    w->descriptor = descriptors_note(ends[0]);
    w->trigger = descriptors_note(ends[1]);
}
#endif

static void close_descriptors(waker *w) {
    if (w->trigger != w->descriptor) descriptors_close(w->trigger);
    descriptors_close(w->descriptor);
    w->descriptor = w->trigger = -1;
}

static bool open_descriptors(waker *w) {
    w->descriptor = w->trigger = w->both = w->other = -1;
    descriptors_lock();
    open_both_ends(w);
    descriptors_unlock();
    if (w->descriptor < 0 || w->trigger < 0) {
        close_descriptors(w);
        return false;
    }
    __atomic_store_n(&w->generation, descriptors_generation(), __ATOMIC_RELEASE);
    return true;
}

/* Returns whether the descriptors are not open, or are the parent process's. */
static bool unopened(const waker *w) {
    return __atomic_load_n(&w->generation, __ATOMIC_ACQUIRE) != descriptors_generation();
}

static void put(const waker *w) {
    uint64_t one = 1;
    size_t size = w->trigger == w->descriptor ? sizeof(one) : 1;
    while (write(w->trigger, &one, size) < 0 && errno == EINTR) {
    }
}

/* Opens the descriptors of a waker that has none in this process. While no more can be opened the
 * waker wakes no thread; a waiting thread continues at its deadline. */
static void open_if_needed(waker *w) {
    if (!unopened(w)) return;
    pthread_mutex_lock(&lock);
    if (unopened(w) && open_descriptors(w) && __atomic_load_n(&w->woken, __ATOMIC_ACQUIRE)) put(w);
    pthread_mutex_unlock(&lock);
}

static void destroy(waker *w) {
    close_descriptors(w);
    free(w);
}

static waker *make_unopened(void) {
    waker *w = calloc(1, sizeof(*w));
    if (w == NULL) return NULL;
    w->descriptor = w->trigger = w->both = w->other = -1;
    w->generation = UNOPENED;
    return w;
}

static waker *make(void) {
    waker *w = make_unopened();
    if (w == NULL) return NULL;
    if (!open_descriptors(w)) {
        int error = errno;
        destroy(w);
        errno = error;
        return NULL;
    }
    return w;
}

/* The caller holds the lock. */
static waker *take_kept(void) {
    waker *w;
    while ((w = LIST_ITEM(list_shift(&free_list), waker, node)) != NULL) {
        free_count--;
        if (!unopened(w)) return w;
        free(w);
    }
    return NULL;
}

static waker *take(waker *(*make_new)(void)) {
    pthread_mutex_lock(&lock);
    waker *w = take_kept();
    pthread_mutex_unlock(&lock);
    if (w == NULL) w = make_new();
    if (w == NULL) return NULL;
    w->references = 1;
    w->marked = w->away = false;
    waker_clear(w); /* no other thread has it, so no write is under way */
    return w;
}

waker *waker_take(void) {
    return take(make);
}

waker *waker_take_unopened(void) {
    return take(make_unopened);
}

waker *waker_keep(waker *w) {
    __atomic_add_fetch(&w->references, 1, __ATOMIC_RELAXED);
    return w;
}

void waker_drop(waker *w) {
    if (w == NULL || __atomic_sub_fetch(&w->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (unopened(w)) {
        free(w);
        return;
    }
    descriptors_close(w->both);
    w->both = w->other = -1;
    pthread_mutex_lock(&lock);
    bool kept = free_count < FREE_LIST_LIMIT;
    if (kept) {
        list_prepend(&free_list, &w->node);
        free_count++;
    }
    pthread_mutex_unlock(&lock);
    if (!kept) destroy(w);
}

int waker_descriptor(waker *w) {
    open_if_needed(w);
    return w->descriptor;
}

void waker_wake(waker *w) {
    open_if_needed(w);
    if (!__atomic_exchange_n(&w->woken, true, __ATOMIC_ACQ_REL)) put(w);
}

bool waker_clear(waker *w) {
    if (!__atomic_load_n(&w->woken, __ATOMIC_ACQUIRE)) return false;
    open_if_needed(w);
    uint64_t count;
    size_t size = w->trigger == w->descriptor ? sizeof(count) : 1;
    ssize_t got;
    do got = read(w->descriptor, &count, size);
    while (got < 0 && errno == EINTR);
    /* waker_wake sets the flag before it writes. When nothing can be read yet, that write is still
     * to come: the flag stays set, so that the next clear reads it. */
    if (got > 0) (void)__atomic_exchange_n(&w->woken, false, __ATOMIC_ACQ_REL);
    return true;
}

#ifdef USE_EPOLL
static bool both_made(waker *w) {
    if (w->both >= 0) return true;
    struct epoll_event own = {.events = EPOLLIN, .data = {.fd = w->descriptor}};
    descriptors_lock();
    w->both = descriptors_note(epoll_create1(EPOLL_CLOEXEC));
    descriptors_unlock();
    if (w->both >= 0 && epoll_ctl(w->both, EPOLL_CTL_ADD, w->descriptor, &own) == 0) return true;
    descriptors_close(w->both);
    w->both = -1;
    return false;
}

int waker_with(waker *w, int descriptor, short events) {
    open_if_needed(w);
    struct epoll_event event = {.data = {.fd = descriptor}};
    event.events = (events & POLLIN ? EPOLLIN : 0U) | (events & POLLOUT ? EPOLLOUT : 0U);
    if (!both_made(w)) return -1;
    if (w->other >= 0) epoll_ctl(w->both, EPOLL_CTL_DEL, w->other, NULL);
    w->other = -1;
    if (epoll_ctl(w->both, EPOLL_CTL_ADD, descriptor, &event) != 0) return -1;
    w->other = descriptor;
    return w->both;
}
#else
int waker_with(waker *w, int descriptor, short events) {
    (void)w, (void)descriptor, (void)events;
    return -1;
}
#endif

void waker_mark(waker *w) {
    __atomic_store_n(&w->marked, true, __ATOMIC_RELEASE);
}

bool waker_marked(waker *w) {
    return __atomic_load_n(&w->marked, __ATOMIC_ACQUIRE) &&
           __atomic_exchange_n(&w->marked, false, __ATOMIC_ACQ_REL);
}

void waker_depart(waker *w) {
    __atomic_store_n(&w->away, true, __ATOMIC_SEQ_CST);
}

void waker_arrive(waker *w) {
    __atomic_store_n(&w->away, false, __ATOMIC_SEQ_CST);
}

bool waker_away(const waker *w) {
    return w != NULL && __atomic_load_n(&w->away, __ATOMIC_SEQ_CST);
}

bool waker_close_unused(void) {
    pthread_mutex_lock(&lock);
    list unused = free_list;
    free_list = (list){0};
    free_count = 0;
    pthread_mutex_unlock(&lock);
    LIST_EACH (waker, w, &unused, node)
        if (unopened(w))
            free(w);
        else
            destroy(w);
    return unused.first != NULL;
}

void waker_before_fork(void) {
    pthread_mutex_lock(&lock);
}

/* The child frees the parent's wakers when it takes one: see fork.c. */
void waker_after_fork(bool child) {
    if (child)
        pthread_mutex_init(&lock, NULL);
    else
        pthread_mutex_unlock(&lock);
}

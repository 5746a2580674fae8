#define _GNU_SOURCE
#include "resolve.h"
#include "resolve_cache.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 8
#define THREAD_IDLE_SECONDS 10
#define FORK_PATIENCE_SECONDS 1
#define MAX_ADDRESSES 64
#define MAX_NAME 255

/* One caller's question. It keeps its name while that is asked for, and then has a copy of the
 * answer, with the caller's own port in it. */
struct resolution {
    lookup *name; /* NULL: answered from the start */
    waker *waker;
    uint16_t port;
    endpoint *list;
    size_t count;
    resolution *next, **link; /* among those who wait for the name */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work;
static pthread_cond_t rest;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static lookup *queue_head, **queue_tail = &queue_head;
static unsigned threads, idle, running;
static bool held; /* a fork is coming: no look-up may start */

static resolve_lookup seam;
static void (*seam_release)(void *);

static void make_conditions(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#ifndef __APPLE__
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(&work, &attributes);
    pthread_cond_init(&rest, &attributes);
    pthread_condattr_destroy(&attributes);
}

static bool wait_for(pthread_cond_t *condition, nanoseconds until) {
#ifdef __APPLE__
    nanoseconds span = until - clock_now();
    struct timespec t = {span > 0 ? span / SECOND : 0, span > 0 ? span % SECOND : 0};
    return pthread_cond_timedwait_relative_np(condition, &lock, &t) == 0;
#else
    struct timespec t = {until / SECOND, until % SECOND};
    return pthread_cond_timedwait(condition, &lock, &t) == 0;
#endif
}

/* ---- the threads ---- */

static int ask(const char *host, resolve_lookup other, void **result) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    if (other != NULL) return other(host, NULL, &hints, result);
    return getaddrinfo(host, NULL, &hints, (struct addrinfo **)result);
}

static bool usable(const struct addrinfo *a) {
    return (a->ai_family == AF_INET || a->ai_family == AF_INET6) &&
           a->ai_addrlen <= sizeof(struct sockaddr_storage);
}

/* Copies what getaddrinfo said into `answer`; its order is kept. */
static void take_in(lookup_answer *answer, const struct addrinfo *found) {
    size_t count = 0;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) count += usable(a);
    if (count > MAX_ADDRESSES) count = MAX_ADDRESSES;
    if (count == 0) {
        failure_set(&answer->why, FAILURE_RESOLVE, PHASE_RESOLVE, 0, "it has no address");
        return;
    }
    answer->list = calloc(count, sizeof(*answer->list));
    if (answer->list == NULL) {
        failure_set(&answer->why, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
        return;
    }
    for (const struct addrinfo *a = found; a != NULL && answer->count < count; a = a->ai_next) {
        if (!usable(a)) continue;
        endpoint *e = &answer->list[answer->count++];
        memcpy(&e->address, a->ai_addr, a->ai_addrlen);
        e->length = a->ai_addrlen;
    }
}

static void look_up(const char *host, resolve_lookup other, void (*release)(void *),
                    lookup_answer *answer) {
    void *found = NULL;
    errno = 0;
    int code = ask(host, other, &found);
    int system_error = errno;
    if (code == 0) {
        take_in(answer, found);
    } else if (code == EAI_SYSTEM) {
        failure_set(&answer->why, FAILURE_RESOLVE, PHASE_RESOLVE, system_error, "%s: %s", host,
                    strerror(system_error));
    } else if (code == EAI_MEMORY) {
        failure_set(&answer->why, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
    } else {
        failure_set(&answer->why, FAILURE_RESOLVE, PHASE_RESOLVE, 0, "%s: %s", host,
                    gai_strerror(code));
    }
    if (found == NULL) return;
    if (other != NULL)
        release(found);
    else
        freeaddrinfo(found);
}

static void wake_all(lookup *name) {
    for (resolution *r = name->waiting; r != NULL; r = r->next) waker_wake(r->waker);
}

static lookup *next_in_queue(void) {
    lookup *name = queue_head;
    queue_head = name->queued;
    if (queue_head == NULL) queue_tail = &queue_head;
    return name;
}

/* One thread: takes names off the queue until there was none for a while. The lock is held but for
 * the look-up itself. */
static void *serve(void *unused) {
    pthread_mutex_lock(&lock);
    for (;;) {
        nanoseconds patience = clock_after(clock_now(), THREAD_IDLE_SECONDS * SECOND);
        idle++;
        bool in_time = true;
        while ((queue_head == NULL || held) && in_time) in_time = wait_for(&work, patience);
        idle--;
        if (queue_head == NULL) break;
        if (held) continue;
        lookup *name = next_in_queue();
        resolve_lookup other = seam;
        void (*release)(void *) = seam_release;
        running++;
        pthread_mutex_unlock(&lock);
        lookup_answer answer = {0};
        look_up(name->host, other, release, &answer);
        pthread_mutex_lock(&lock);
        running--;
        lookup_answered(name, &answer, clock_now());
        wake_all(name);
        lookup_drop(name);
        if (running == 0) pthread_cond_broadcast(&rest);
    }
    threads--;
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Signals are for the program's own threads: these have all of them blocked from their start. */
static int start_thread(void) {
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* Puts a new name in the queue, with a thread for it. False when there can be none at all. */
static bool enqueue(lookup *name, failure *f) {
    unsigned waiting = 1;
    for (lookup *n = queue_head; n != NULL; n = n->queued) waiting++;
    if (idle < waiting && threads < MAX_THREADS) {
        int error = start_thread();
        if (error == 0)
            threads++;
        else if (threads == 0)
            return failure_set(f, FAILURE_RESOLVE, PHASE_RESOLVE, error,
                               "no thread could be started to look it up: %s", strerror(error));
    }
    lookup_keep(name); /* whoever looks it up */
    *queue_tail = name;
    queue_tail = &name->queued;
    pthread_cond_signal(&work);
    return true;
}

/* ---- the callers ---- */

static void set_port(endpoint *e, uint16_t port) {
    if (e->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&e->address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&e->address)->sin_port = htons(port);
}

static bool scoped_literal(const char *host, endpoint *e) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return false;
    memcpy(&e->address, found->ai_addr, found->ai_addrlen);
    e->length = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static bool literal(const char *host, endpoint *e) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)&e->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&e->address;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        e->length = sizeof(*v4);
        return true;
    }
    if (strchr(host, ':') == NULL) return false;
    if (strchr(host, '%') != NULL) return scoped_literal(host, e);
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1) return false;
    v6->sin6_family = AF_INET6;
    e->length = sizeof(*v6);
    return true;
}

static bool copy_answer(resolution *r, const endpoint *list, size_t count) {
    r->list = calloc(count, sizeof(*list));
    if (r->list == NULL) return false;
    memcpy(r->list, list, count * sizeof(*list));
    r->count = count;
    for (size_t i = 0; i < count; i++) set_port(&r->list[i], r->port);
    return true;
}

static void stop_waiting(resolution *r) {
    *r->link = r->next;
    if (r->next != NULL) r->next->link = r->link;
    lookup_drop(r->name);
    waker_drop(r->waker);
    r->name = NULL;
    r->waker = NULL;
}

static void start_waiting(resolution *r, lookup *name, waker *w) {
    r->name = lookup_keep(name);
    r->waker = waker_keep(w);
    r->next = name->waiting;
    r->link = &name->waiting;
    if (r->next != NULL) r->next->link = &r->next;
    name->waiting = r;
}

/* What is known of the name by now. Under the lock. */
static io_result outcome(resolution *r, const lookup *name, failure *f) {
    if (name->state == LOOKUP_ASKED) return IO_WAIT;
    if (name->state == LOOKUP_FAILED) {
        *f = name->answer.why;
        return IO_FAILED;
    }
    if (copy_answer(r, name->answer.list, name->answer.count)) return IO_DONE;
    failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
    return IO_FAILED;
}

/* Under the lock: the name from the cache, or a new one that is queued. NULL: see `f`. */
static lookup *find_or_ask(const char *host, failure *f) {
    lookup *name = lookup_find(host, clock_now());
    if (name != NULL) return name;
    name = lookup_add(host);
    if (name == NULL) {
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
        return NULL;
    }
    if (enqueue(name, f)) return name;
    lookup_forget(host);
    return NULL;
}

static io_result start(resolution *r, const char *host, waker *w, failure *f) {
    endpoint one;
    memset(&one, 0, sizeof(one));
    if (literal(host, &one)) {
        if (copy_answer(r, &one, 1)) return IO_DONE;
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
        return IO_FAILED;
    }
    size_t length = strlen(host);
    if (length == 0 || length > MAX_NAME) {
        failure_set(f, FAILURE_RESOLVE, PHASE_RESOLVE, 0,
                    "a host name has 1 to %d bytes; this one has %zu", MAX_NAME, length);
        return IO_FAILED;
    }
    pthread_once(&once, make_conditions);
    pthread_mutex_lock(&lock);
    lookup *name = find_or_ask(host, f);
    io_result result = name == NULL ? IO_FAILED : outcome(r, name, f);
    if (result == IO_WAIT) start_waiting(r, name, w);
    pthread_mutex_unlock(&lock);
    return result;
}

io_result resolve_start(const char *host, uint16_t port, waker *w, resolution **out, failure *f) {
    *out = NULL;
    resolution *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
        return IO_FAILED;
    }
    r->port = port;
    io_result result = start(r, host, w, f);
    if (result == IO_FAILED)
        free(r);
    else
        *out = r;
    return result;
}

io_result resolve_result(resolution *r, const endpoint **list, size_t *count, failure *f) {
    io_result result = IO_DONE;
    if (r->name != NULL) {
        pthread_mutex_lock(&lock);
        result = outcome(r, r->name, f);
        if (result == IO_DONE) stop_waiting(r);
        pthread_mutex_unlock(&lock);
    }
    if (result == IO_DONE) {
        *list = r->list;
        *count = r->count;
    }
    return result;
}

void resolve_release(resolution *r) {
    if (r == NULL) return;
    if (r->name != NULL) {
        pthread_mutex_lock(&lock);
        stop_waiting(r);
        pthread_mutex_unlock(&lock);
    }
    free(r->list);
    free(r);
}

void resolve_forget(const char *host) {
    pthread_mutex_lock(&lock);
    lookup_forget(host);
    pthread_mutex_unlock(&lock);
}

void resolve_clear(void) {
    pthread_mutex_lock(&lock);
    lookup_forget_all();
    pthread_mutex_unlock(&lock);
}

void resolve_set_lookup(resolve_lookup other, void (*release)(void *)) {
    pthread_mutex_lock(&lock);
    seam = other;
    seam_release = release;
    pthread_mutex_unlock(&lock);
}

/* ---- fork ---- */

/* A thread inside getaddrinfo holds locks of the C library, which would stay locked in the child.
 */
void resolve_before_fork(void) {
    pthread_once(&once, make_conditions);
    pthread_mutex_lock(&lock);
    held = true;
    nanoseconds patience = clock_after(clock_now(), FORK_PATIENCE_SECONDS * SECOND);
    while (running > 0 && wait_for(&rest, patience)) {
    }
}

static void fail_queued(void *unused, lookup *name) {
    (void)unused;
    if (name->state != LOOKUP_ASKED) return;
    lookup_answer answer = {0};
    failure_set(&answer.why, FAILURE_FORKED, PHASE_RESOLVE, 0,
                "the process forked while %s was looked up", name->host);
    lookup_answered(name, &answer, clock_now());
}

/* The child has none of the threads: what they were asked for fails (their references to it are
 * lost, and that memory with them); everything else starts as on the first day. */
void resolve_after_fork(bool child) {
    if (child) {
        pthread_mutex_init(&lock, NULL);
        make_conditions();
        pthread_mutex_lock(&lock);
        lookup_each(fail_queued, NULL);
        lookup_forget_all();
        queue_head = NULL;
        queue_tail = &queue_head;
        threads = idle = running = 0;
    }
    held = false;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
}

#define _GNU_SOURCE
#include "resolve.h"
#include "transport/events/portable.h"
#include "resolve_queue_internal.h"
#include "resolve_system_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_IDLE_SECONDS 10
#define STACK_BYTES (512 * 1024)
#define MAX_NAME 255

/* A resolution has a reference to its name while it waits, and then a copy of the result with its
 * port. */
struct resolution {
    lookup *name; /* NULL: the resolution does not wait */
    waker *waker;
    uint16_t port;
    endpoint *list;
    size_t count;
    list_node node; /* in ->waiting of the name */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work;
static pthread_cond_t no_lookup_runs;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned threads, idle;
static unsigned starting;              /* threads that have not checked the queue yet */
static bool forking;                   /* a fork is under way: no look-up may start */
static nanoseconds last_start;         /* when a look-up started last */
static nanoseconds next_check = NEVER; /* when an idle thread checks the queue again */

static resolve_lookup replacement; /* replaces getaddrinfo in tests */
static void (*replacement_release)(void *);

static void *serve(void *unused);

static void make_conditions(void) {
    portable_condition(&work);
    portable_condition(&no_lookup_runs);
}

static bool wait_for(pthread_cond_t *condition, nanoseconds until) {
    return portable_wait(condition, &lock, until);
}

/* ---- the threads ---- */

static void wake_all(const lookup *name) {
    LIST_EACH (resolution, r, &name->waiting, node) waker_wake(r->waker);
}

/* Blocks all signals in the thread, so that the program's own threads receive them. */
static int start_thread(void) {
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error == 0) threads++, starting++;
    return error;
}

/* Wakes an idle thread for the queue, or starts a thread unless one for each queued name is
 * starting. Returns 0 or an errno. */
static int need_thread(void) {
    if (idle > 0) {
        pthread_cond_signal(&work);
        return 0;
    }
    if (starting >= lookup_queue_length()) return 0;
    return threads < RESOLVE_MAX_THREADS ? start_thread() : 0;
}

/* Only one of the idle threads ends its wait at `due`. */
static void wait_idle(nanoseconds deadline, nanoseconds due) {
    bool first = due < next_check;
    if (first) next_check = due;
    idle++;
    wait_for(&work, first ? clock_earlier(deadline, due) : deadline);
    idle--;
    if (first) next_check = NEVER;
}

/* Waits for the next name that may be looked up; returns NULL after THREAD_IDLE_SECONDS without
 * one. */
static lookup *wait_for_name(void) {
    nanoseconds deadline = clock_after(clock_now(), THREAD_IDLE_SECONDS * SECOND);
    for (;;) {
        nanoseconds now = clock_now(), due = NEVER;
        lookup *name = forking ? NULL : lookup_queue_take(now, &due);
        if (name != NULL) return name;
        if (now >= deadline && lookup_queue_length() == 0) return NULL;
        if (now >= deadline) deadline = clock_after(now, THREAD_IDLE_SECONDS * SECOND);
        wait_idle(deadline, due);
    }
}

/* Looks a name up, and releases the lock meanwhile. */
static void run(lookup *name) {
    lookup_result result = {0};
    resolve_lookup other = replacement;
    void (*release)(void *) = replacement_release;
    last_start = clock_now();
    pthread_mutex_unlock(&lock);
    resolve_system(name->host, other, release, &result);
    pthread_mutex_lock(&lock);
    lookup_queue_finished(name);
    lookup_set_result(name, &result, clock_now());
    wake_all(name);
    lookup_drop(name);
    if (lookup_queue_running() == 0) pthread_cond_broadcast(&no_lookup_runs);
}

static void *serve(void *unused) {
    pthread_mutex_lock(&lock);
    starting--;
    for (lookup *name; (name = wait_for_name()) != NULL;) {
        if (lookup_queue_length() > 0) need_thread();
        run(name);
    }
    threads--;
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Fails a queued name without a look-up. */
static void give_up(lookup *name) {
    lookup_result result = {0};
    failure_set(&result.why, FAILURE_RESOLVE, PHASE_RESOLVE, 0,
                "%s: more than %d names wait to be looked up", name->host, RESOLVE_MAX_QUEUED);
    lookup_queue_remove(name);
    lookup_set_result(name, &result, clock_now());
    wake_all(name);
    lookup_unlist(name); /* this failure is not cached, because the name may be valid */
    lookup_drop(name);
}

/* Queues a new name, and wakes or starts a thread for it. Returns false with *f. */
static bool enqueue(lookup *name, failure *f) {
    if (!lookup_queue_add(name))
        return failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
    int error = need_thread();
    if (error != 0 && threads == 0) {
        lookup_queue_remove(name);
        return failure_set(f, FAILURE_RESOLVE, PHASE_RESOLVE, error,
                           "no thread could be started to look it up: %s", strerror(error));
    }
    lookup_keep(name); /* the look-up's reference */
    if (lookup_queue_length() > RESOLVE_MAX_QUEUED) give_up(lookup_queue_surplus(name));
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

static bool copy_endpoints(resolution *r, const endpoint *list, size_t count) {
    r->list = calloc(count, sizeof(*list));
    if (r->list == NULL) return false;
    memcpy(r->list, list, count * sizeof(*list));
    r->count = count;
    for (size_t i = 0; i < count; i++) set_port(&r->list[i], r->port);
    return true;
}

/* Removes a queued name that no caller waits for. A running look-up cannot be cancelled. */
static void leave_queue(lookup *name) {
    if (name->state != LOOKUP_QUEUED || name->waiting.first != NULL) return;
    lookup_queue_remove(name);
    lookup_unlist(name);
    lookup_drop(name);
}

static void stop_waiting(resolution *r) {
    list_remove(&r->name->waiting, &r->node);
    leave_queue(r->name);
    lookup_drop(r->name);
    waker_drop(r->waker);
    r->name = NULL;
    r->waker = NULL;
}

static void start_waiting(resolution *r, lookup *name, waker *w) {
    r->name = lookup_keep(name);
    r->waker = waker_keep(w);
    list_append(&name->waiting, &r->node);
}

/* Returns the name's result so far. The caller holds the lock. */
static io_result outcome(resolution *r, const lookup *name, failure *f) {
    if (name->state == LOOKUP_QUEUED || name->state == LOOKUP_RUNNING) return IO_WAIT;
    if (name->state == LOOKUP_FAILED) {
        *f = name->result.why;
        return IO_FAILED;
    }
    if (copy_endpoints(r, name->result.list, name->result.count)) return IO_DONE;
    failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
    return IO_FAILED;
}

/* Returns the name from the cache or queue, or a new one; NULL with *f. The caller holds the
 * lock. */
static lookup *find_or_enqueue(const char *host, nanoseconds max_age, failure *f) {
    bool known;
    lookup *name = lookup_find(host, clock_now(), max_age, &known);
    if (name != NULL) return name;
    name = lookup_add(host, known);
    if (name == NULL) {
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
        return NULL;
    }
    if (enqueue(name, f)) return name;
    lookup_unlist(name);
    return NULL;
}

static io_result start(resolution *r, const char *host, nanoseconds max_age, waker *w, failure *f) {
    endpoint one;
    memset(&one, 0, sizeof(one));
    if (literal(host, &one)) {
        if (copy_endpoints(r, &one, 1)) return IO_DONE;
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
    lookup *name = find_or_enqueue(host, max_age, f);
    io_result result = name == NULL ? IO_FAILED : outcome(r, name, f);
    if (result == IO_WAIT) start_waiting(r, name, w);
    pthread_mutex_unlock(&lock);
    return result;
}

io_result resolve_start(const char *host, uint16_t port, nanoseconds max_age, waker *w,
                        resolution **out, failure *f) {
    *out = NULL;
    resolution *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
        return IO_FAILED;
    }
    r->port = port;
    io_result result = start(r, host, max_age, w, f);
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
    replacement = other;
    replacement_release = release;
    pthread_mutex_unlock(&lock);
}

/* ---- fork ---- */

/* A look-up that has just begun may hold locks of the C library while it reads files; they would
 * stay locked in the child. A look-up that waits for a name server holds none. */
void resolve_before_fork(void) {
    pthread_once(&once, make_conditions);
    pthread_mutex_lock(&lock);
    forking = true;
    nanoseconds deadline = clock_after(last_start, RESOLVE_FORK_TIMEOUT);
    while (lookup_queue_running() > 0 && wait_for(&no_lookup_runs, deadline)) {
    }
}

static void fail_pending(void *unused, lookup *name) {
    (void)unused;
    if (name->state == LOOKUP_QUEUED || name->state == LOOKUP_RUNNING) {
        lookup_result result = {0};
        failure_set(&result.why, FAILURE_FORKED, PHASE_RESOLVE, 0,
                    "the process forked while %s was looked up", name->host);
        lookup_set_result(name, &result, clock_now());
    }
    lookup_unlist(name);
}

/* The child has none of the threads. Names that were queued or looked up fail; the threads'
 * references to them are lost, so that their memory leaks. */
void resolve_after_fork(bool child) {
    if (child) {
        pthread_mutex_init(&lock, NULL);
        make_conditions();
        pthread_mutex_lock(&lock);
        lookup_queue_reset();
        lookup_each(fail_pending, NULL);
        threads = idle = starting = 0;
        next_check = NEVER;
    }
    forking = false;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
}

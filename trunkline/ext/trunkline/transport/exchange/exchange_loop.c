#include "exchange_loop.h"

#include "transport/events/event_loop.h"

#include <errno.h>
#include <stdlib.h>

#define EVENTS_AT_ONCE 256
#define AWAY_LONG (MILLISECOND / 10)
#define WATCH_RETRY (5 * MILLISECOND) /* time between two attempts to watch the waker */

struct exchange_loop {
    event_loop *loop;   /* owned */
    waker *waker;       /* one reference */
    http2_batch *batch; /* owned; for the members' calls over HTTP/2 */
    deadlines due;
    list runnable; /* members to be stepped */
    list ready;    /* members that the caller has to serve */
    list all;
    nanoseconds left_at;  /* when the driver stopped driving last; NEVER: not yet */
    bool driver_was_away; /* the driver was away: the next events may be old */
    bool waker_watched;   /* the waker is watched */
};

static void make_runnable(exchange_loop *l, member *m) {
    if (m->where == MEMBER_WAITING) {
        m->where = MEMBER_RUNNABLE;
        list_append(&l->runnable, &m->queue_node);
    }
}

/* Watches the waker; each of its events ends the watch. A failed watch is tried again after
 * WATCH_RETRY. */
static bool watch_waker(exchange_loop *l) {
    l->waker_watched = event_loop_watch(l->loop, waker_descriptor(l->waker), 0, POLLIN, l);
    return l->waker_watched;
}

static void unwatch(exchange_loop *l, member *m) {
    for (int i = 0; i < m->watching_count; i++) event_loop_ignore(l->loop, m->watching[i], m);
    m->watching_count = 0;
}

/* Registers the descriptors that the member waits for. A member that uses a connection waits for
 * that only, under the connection's id, with which epoll may have it registered already. */
static bool watch(exchange_loop *l, member *m) {
    struct pollfd entries[DIAL_MAX_ATTEMPTS];
    int count = exchange_wait(m->x, entries, DIAL_MAX_ATTEMPTS, &m->due.when);
    bool talking = m->x->state == EXCHANGE_TALKING;
    if (talking && count == 1 && m->watching_count == 1 && m->watching[0] == entries[0].fd)
        m->watching_count = 0;
    unwatch(l, m);
    for (int i = 0; i < count; i++) {
        uint64_t id = talking ? m->x->connection->id : 0;
        if (!event_loop_watch(l->loop, entries[i].fd, id, entries[i].events, m)) return false;
        m->watching[m->watching_count++] = entries[i].fd;
    }
    return m->due.when == 0 || deadlines_set(&l->due, &m->due);
}

static void step(exchange_loop *l, member *m, nanoseconds now) {
    m->where = MEMBER_WAITING;
    m->x->driver_was_away |= l->driver_was_away;
    m->step = exchange_step(m->x, now);
    if (m->step == STEP_WAIT && !watch(l, m)) {
        exchange_abort(m->x);
        m->x->why.code = FAILURE_OUT_OF_MEMORY;
        m->step = STEP_FAILED;
    }
    if (m->step != STEP_WAIT) {
        m->where = MEMBER_READY;
        list_append(&l->ready, &m->queue_node);
    } else if (m->due.when == 0) {
        make_runnable(l, m);
    }
}

/* Checks all waiting members, because the waker does not record for which member it was woken. */
static void resume_due_members(exchange_loop *l) {
    LIST_EACH (member, m, &l->all, loop_node)
        if (m->where == MEMBER_WAITING && exchange_needs_step(m->x)) make_runnable(l, m);
}

/* Checks all members that use a connection after one of them received something for others during
 * its step: the waker's mark does not record for which. */
static void resume_members_with_input(exchange_loop *l) {
    if (!waker_marked(l->waker)) return;
    LIST_EACH (member, m, &l->all, loop_node)
        if (m->where == MEMBER_WAITING && m->x->state == EXCHANGE_TALKING &&
            exchange_has_input(m->x))
            make_runnable(l, m);
}

/* Gives the loop a new epoll instance in a forked child. The members are stepped, and fail, because
 * their connections belong to the parent. */
static void leave_to_parent(exchange_loop *l) {
    if (!event_loop_inherited(l->loop)) return;
    event_loop_renew(l->loop);
    LIST_EACH (member, m, &l->all, loop_node) {
        m->watching_count = 0;
        make_runnable(l, m);
    }
    watch_waker(l);
}

void exchange_loop_run(exchange_loop *l) {
    leave_to_parent(l);
    resume_members_with_input(l);
    const list_node *last = l->runnable.last;
    nanoseconds now = 0;
    for (list_node *n; (n = list_shift(&l->runnable)) != NULL;) {
        member *m = LIST_ITEM(n, member, queue_node);
        step(l, m, now != 0 ? now : clock_now());
        now = m->x->stepped_at; /* most steps read the clock at their end */
        if (n == last) break;   /* members that became runnable since wait for the next run */
    }
    http2_batch_flush(l->batch, l->waker);
    resume_members_with_input(l);
}

/* Returns true when it took all pending events. */
static bool wait_once(exchange_loop *l, nanoseconds until) {
    void *events[EVENTS_AT_ONCE];
    if (!l->waker_watched) watch_waker(l);
    int count = event_loop_wait(l->loop, until, events, EVENTS_AT_ONCE);
    for (int i = 0; i < count; i++) {
        if (events[i] == l) {
            waker_clear(l->waker);
            watch_waker(l);
            resume_due_members(l);
        } else {
            make_runnable(l, events[i]);
        }
    }
    bool all = count < EVENTS_AT_ONCE;
    if (l->due.count == 0) return all;
    nanoseconds now = clock_now();
    for (deadline *due; (due = deadlines_expired(&l->due, now)) != NULL;)
        make_runnable(l, (member *)((char *)due - offsetof(member, due)));
    return all;
}

nanoseconds exchange_loop_deadline(const exchange_loop *l) {
    if (l->runnable.first != NULL || l->ready.first != NULL) return 0;
    nanoseconds next = deadlines_next(&l->due);
    return l->waker_watched ? next : clock_earlier(next, clock_now() + WATCH_RETRY);
}

void exchange_loop_drive(exchange_loop *l, nanoseconds until, const stop_request *stop) {
    leave_to_parent(l);
    /* Lets event_loop_quiet answer for the members to be stepped. */
    bool all = l->runnable.first != NULL && wait_once(l, 0);
    exchange_loop_run(l);
    if (all) l->driver_was_away = false;
    while (l->ready.first == NULL && !stop_requested(stop)) {
        all = wait_once(l, stop_wait_until(stop, clock_earlier(until, exchange_loop_deadline(l))));
        exchange_loop_run(l);
        if (all) l->driver_was_away = false;
        if (until == 0 || (until != NEVER && clock_now() >= until)) return;
    }
}

void exchange_loop_add(exchange_loop *l, member *m, exchange *x, void *owner) {
    *m = (member){.x = x, .owner = owner, .loop = l, .where = MEMBER_WAITING, .due.index = -1};
    list_append(&l->all, &m->loop_node);
    exchange_join(x, l->batch, l->loop);
    make_runnable(l, m);
}

void exchange_loop_remove(exchange_loop *l, member *m) {
    if (m->where == MEMBER_RUNNABLE)
        list_remove(&l->runnable, &m->queue_node);
    else if (m->where == MEMBER_READY)
        list_remove(&l->ready, &m->queue_node);
    unwatch(l, m);
    deadlines_remove(&l->due, &m->due);
    list_remove(&l->all, &m->loop_node);
}

void exchange_loop_resume(exchange_loop *l, member *m) {
    m->where = MEMBER_WAITING;
    make_runnable(l, m);
}

member *exchange_loop_next(exchange_loop *l) {
    member *m = LIST_ITEM(list_shift(&l->ready), member, queue_node);
    if (m != NULL) m->where = MEMBER_WAITING;
    return m;
}

bool exchange_loop_has_ready(const exchange_loop *l) {
    return l->ready.first != NULL;
}

int exchange_loop_descriptor(exchange_loop *l) {
    leave_to_parent(l);
    return event_loop_descriptor(l->loop);
}

void exchange_loop_depart(exchange_loop *l) {
    l->left_at = clock_now();
    http2_batch_depart(l->batch);
    waker_depart(l->waker);
    const member *any = LIST_FIRST(&l->all, member, loop_node);
    if (any != NULL) pool_driver_left(any->x->pool);
}

void exchange_loop_arrive(exchange_loop *l) {
    l->driver_was_away |= clock_now() - l->left_at > AWAY_LONG;
    waker_arrive(l->waker);
    http2_batch_arrive(l->batch);
}

void exchange_loop_begin_fiber_wait(exchange_loop *l) {
    l->left_at = clock_now();
    http2_batch_depart(l->batch);
}

exchange_loop *exchange_loop_new(waker *w) {
    exchange_loop *l = calloc(1, sizeof(*l));
    if (l == NULL) return NULL;
    l->waker = waker_keep(w);
    l->loop = event_loop_new();
    l->batch = http2_batch_new();
    if (l->loop == NULL || l->batch == NULL || !watch_waker(l)) {
        int error = errno;
        event_loop_free(l->loop);
        http2_batch_drop(l->batch);
        waker_drop(l->waker);
        free(l);
        errno = error;
        return NULL;
    }
    l->left_at = NEVER;
    return l;
}

void exchange_loop_free(exchange_loop *l) {
    if (l == NULL || event_loop_inherited(l->loop))
        return; /* a thread of the parent may have been using it */
    http2_batch_close(l->batch);
    deadlines_free(&l->due);
    event_loop_free(l->loop);
    waker_drop(l->waker);
    free(l);
}

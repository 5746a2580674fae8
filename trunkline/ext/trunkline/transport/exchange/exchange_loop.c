#include "exchange_loop.h"

#include "deadlines.h"
#include "transport/events/event_loop.h"

#include <errno.h>
#include <stdlib.h>

#define TOLD_AT_ONCE 256

typedef struct {
    member *first, *last;
} queue;

struct poller {
    loop *loop;       /* owned */
    waker *waker;     /* one reference */
    mux_batch *batch; /* owned; of those of its calls that share connections */
    deadlines due;
    queue runnable; /* to be stepped */
    queue ready;    /* for the caller */
    member *all;
};

static void push(queue *q, member *m) {
    m->next = NULL;
    if (q->last != NULL) {
        q->last->next = m;
    } else {
        q->first = m;
    }
    q->last = m;
}

static member *shift(queue *q) {
    member *m = q->first;
    if (m != NULL) {
        q->first = m->next;
        if (q->first == NULL) {
            q->last = NULL;
        }
    }
    return m;
}

static void unlink_from(queue *q, member *m) {
    member *before = NULL;
    for (member *at = q->first; at != NULL && at != m; at = at->next) {
        before = at;
    }
    if (before != NULL) {
        before->next = m->next;
    } else {
        q->first = m->next;
    }
    if (q->last == m) {
        q->last = before;
    }
}

static void make_runnable(poller *p, member *m) {
    if (m->where == MEMBER_WAITING) {
        m->where = MEMBER_RUNNABLE;
        push(&p->runnable, m);
    }
}

static void unwatch(poller *p, member *m) {
    for (int i = 0; i < m->watching_count; i++) {
        loop_ignore(p->loop, m->watching[i], m);
    }
    m->watching_count = 0;
}

/* Tells the loop what the member waits for. While it talks that is one connection, named by its id,
 * which the kernel may know already. */
static bool watch(poller *p, member *m) {
    struct pollfd entries[DIAL_MAX_ATTEMPTS];
    int count = exchange_wait(m->x, entries, DIAL_MAX_ATTEMPTS, &m->deadline);
    bool talking = m->x->state == EXCHANGE_TALKING;
    if (talking && count == 1 && m->watching_count == 1 && m->watching[0] == entries[0].fd) {
        m->watching_count = 0;
    }
    unwatch(p, m);
    for (int i = 0; i < count; i++) {
        uint64_t id = talking ? m->x->line->id : 0;
        if (!loop_watch(p->loop, entries[i].fd, id, entries[i].events, m)) {
            return false;
        }
        m->watching[m->watching_count++] = entries[i].fd;
    }
    return m->deadline == 0 || deadlines_set(&p->due, m, m->deadline);
}

static void step(poller *p, member *m) {
    m->where = MEMBER_WAITING;
    m->step = exchange_step(m->x, clock_now());
    if (m->step == STEP_WAIT && !watch(p, m)) {
        exchange_abort(m->x);
        m->x->why.code = FAILURE_OUT_OF_MEMORY;
        m->step = STEP_FAILED;
    }
    if (m->step != STEP_WAIT) {
        m->where = MEMBER_READY;
        push(&p->ready, m);
    } else if (m->deadline == 0) {
        make_runnable(p, m);
    }
}

/* The waker does not say whom. */
static void wake_called(poller *p) {
    for (member *m = p->all; m != NULL; m = m->next_all) {
        if (m->where == MEMBER_WAITING && exchange_called(m->x)) {
            make_runnable(p, m);
        }
    }
}

/* Nor does what one of them found out for the others while it was stepped. */
static void wake_touched(poller *p) {
    if (!waker_marked(p->waker)) {
        return;
    }
    for (member *m = p->all; m != NULL; m = m->next_all) {
        if (m->where == MEMBER_WAITING && m->x->state == EXCHANGE_TALKING &&
            exchange_touched(m->x)) {
            make_runnable(p, m);
        }
    }
}

/* In a child the parent's events are not for it: it gets an epoll of its own, and what was under
 * way finds out that its connection is the parent's. */
static void leave_to_parent(poller *p) {
    if (!loop_inherited(p->loop)) {
        return;
    }
    loop_renew(p->loop);
    for (member *m = p->all; m != NULL; m = m->next_all) {
        m->watching_count = 0;
        make_runnable(p, m);
    }
    loop_watch(p->loop, waker_descriptor(p->waker), 0, POLLIN, p);
}

void poller_run(poller *p) {
    leave_to_parent(p);
    wake_touched(p);
    member *last = p->runnable.last;
    for (member *m; (m = shift(&p->runnable)) != NULL;) {
        step(p, m);
        if (m == last) {
            break; /* those that run on and on wait for their next turn */
        }
    }
    mux_batch_flush(p->batch, p->waker);
    wake_touched(p);
}

static void wait_once(poller *p, nanoseconds until) {
    void *told[TOLD_AT_ONCE];
    int count = loop_wait(p->loop, until, told, TOLD_AT_ONCE);
    for (int i = 0; i < count; i++) {
        if (told[i] == p) {
            waker_clear(p->waker);
            loop_watch(p->loop, waker_descriptor(p->waker), 0, POLLIN, p);
            wake_called(p);
        } else {
            make_runnable(p, told[i]);
        }
    }
    if (p->due.count == 0) {
        return;
    }
    nanoseconds now = clock_now();
    for (member *m; (m = deadlines_expired(&p->due, now)) != NULL;) {
        make_runnable(p, m);
    }
}

nanoseconds poller_deadline(const poller *p) {
    return p->runnable.first != NULL || p->ready.first != NULL ? 0 : deadlines_next(&p->due);
}

void poller_drive(poller *p, nanoseconds until, const stop_request *stop) {
    leave_to_parent(p);
    if (p->runnable.first != NULL) {
        wait_once(p, 0); /* connections that these may take are known by it */
    }
    poller_run(p);
    while (p->ready.first == NULL && !stop_wanted(stop)) {
        wait_once(p, stop_wait_until(stop, clock_earlier(until, poller_deadline(p))));
        poller_run(p);
        if (until == 0 || (until != NEVER && clock_now() >= until)) {
            return;
        }
    }
}

void poller_add(poller *p, member *m, exchange *x, void *owner) {
    *m = (member){.x = x, .owner = owner, .poller = p, .where = MEMBER_WAITING, .heap_index = -1};
    m->next_all = p->all;
    if (p->all != NULL) {
        p->all->previous_all = m;
    }
    p->all = m;
    exchange_join(x, p->batch, p->loop);
    make_runnable(p, m);
}

void poller_remove(poller *p, member *m) {
    if (m->where == MEMBER_RUNNABLE) {
        unlink_from(&p->runnable, m);
    } else if (m->where == MEMBER_READY) {
        unlink_from(&p->ready, m);
    }
    unwatch(p, m);
    deadlines_remove(&p->due, m);
    if (m->previous_all != NULL) {
        m->previous_all->next_all = m->next_all;
    } else {
        p->all = m->next_all;
    }
    if (m->next_all != NULL) {
        m->next_all->previous_all = m->previous_all;
    }
}

void poller_resume(poller *p, member *m) {
    m->where = MEMBER_WAITING;
    make_runnable(p, m);
}

member *poller_next(poller *p) {
    member *m = shift(&p->ready);
    if (m != NULL) {
        m->where = MEMBER_WAITING;
    }
    return m;
}

bool poller_has_ready(const poller *p) {
    return p->ready.first != NULL;
}

int poller_descriptor(poller *p) {
    leave_to_parent(p);
    return loop_descriptor(p->loop);
}

void poller_depart(poller *p) {
    mux_batch_depart(p->batch);
    waker_depart(p->waker);
    if (p->all != NULL) {
        pool_driver_left(p->all->x->pool);
    }
}

void poller_arrive(poller *p) {
    waker_arrive(p->waker);
    mux_batch_arrive(p->batch);
}

void poller_park(poller *p) {
    mux_batch_depart(p->batch);
}

poller *poller_new(waker *w) {
    poller *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return NULL;
    }
    p->loop = loop_new();
    p->batch = mux_batch_new();
    if (p->loop == NULL || p->batch == NULL ||
        !loop_watch(p->loop, waker_descriptor(w), 0, POLLIN, p)) {
        int error = errno;
        loop_free(p->loop);
        mux_batch_drop(p->batch);
        free(p);
        errno = error;
        return NULL;
    }
    p->waker = waker_keep(w);
    return p;
}

void poller_free(poller *p) {
    if (p == NULL || loop_inherited(p->loop)) {
        return; /* one of the parent's threads may have been in the midst of it */
    }
    mux_batch_close(p->batch);
    deadlines_free(&p->due);
    loop_free(p->loop);
    waker_drop(p->waker);
    free(p);
}

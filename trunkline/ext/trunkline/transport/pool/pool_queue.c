#include "transport/http2/http2_connection.h"
#include "pool_internal.h"

/* ---- waiting ---- */

void pool_queue_append(pool *p, bucket *b, waiter *w) {
    w->place = b;
    w->waiting = true;
    w->since = clock_now();
    p->impatience_due |= w->may_share;
    __atomic_store_n(&w->called, false, __ATOMIC_RELEASE);
    w->next = NULL;
    w->previous = b->last;
    if (b->last != NULL) {
        b->last->next = w;
    } else {
        b->first = w;
    }
    b->last = w;
    p->count.waiting++;
}

void pool_queue_remove(pool *p, waiter *w) {
    bucket *b = w->place;
    if (w->previous != NULL) {
        w->previous->next = w->next;
    } else {
        b->first = w->next;
    }
    if (w->next != NULL) {
        w->next->previous = w->previous;
    } else {
        b->last = w->previous;
    }
    w->waiting = false;
    p->count.waiting--;
    if (b->first == NULL) {
        capacity_forgo(&b->claim);
    } else if (b->claim.waker == w->waker) {
        capacity_hand_over(&b->claim, b->first->waker);
    }
}

/* Something is there for it: see pool_turn. */
static void call(waiter *w) {
    __atomic_store_n(&w->called, true, __ATOMIC_RELEASE);
    waker_wake(w->waker);
}

bool pool_called(const pool *p, const waiter *w) {
    return __atomic_load_n(&w->called, __ATOMIC_ACQUIRE) ||
           w->generation != __atomic_load_n(&p->generation, __ATOMIC_RELAXED) ||
           capacity_granted(&w->place->claim);
}

bool pool_driven_one_waits(const bucket *b) {
    const waiter *w = b->first;
    while (w != NULL && waker_away(w->waker)) {
        w = w->next;
    }
    return w != NULL;
}

/* ---- who gets what ---- */

/* What a server has not said yet is taken to be as with the connection before; if there was none,
 * the others wait for its word: what is one too many it refuses. */
static uint32_t places_on(const bucket *b, const connection *c) {
    if (mux_heard(c->mux)) {
        return mux_most(c->mux);
    }
    return b->most > 0 ? b->most : 1;
}

/* A connection of the process's comes to be used by calls, or a right to open one. */
static bool begin_use(bucket *b, waiter *w) {
    if (!capacity_take(&b->claim, w->waker)) {
        return false;
    }
    b->in_use++;
    return true;
}

void pool_end_use(bucket *b) {
    b->in_use--;
    capacity_give();
}

static connection *take_shared(pool *p, bucket *b, waiter *w) {
    for (connection *c = b->shared; c != NULL; c = c->shared_next) {
        bool idle = c->streams == 0;
        if (c->born < w->opened_after || mux_closing(c->mux) || c->streams >= places_on(b, c) ||
            (idle && (b->in_use >= w->limit || !begin_use(b, w)))) {
            continue;
        }
        if (idle) {
            pool_idle_unlink(p, c);
        }
        c->streams++;
        c->uses++;
        p->count.reused++;
        return c;
    }
    return NULL;
}

static bool driven_dial(const pool *p, const bucket *b) {
    const waiter *w = b->dials > 0 ? p->diallers : NULL;
    while (w != NULL && (w->place != b || waker_away(w->waker))) {
        w = w->dialling_after;
    }
    return w != NULL;
}

static nanoseconds patient_until(const bucket *b, const waiter *w) {
    nanoseconds since = w->since > b->unsettled_since ? w->since : b->unsettled_since;
    return since + POOL_PATIENCE;
}

/* Whether there will be room on a shared connection is about to be known: one is being opened, or
 * its server has not said yet how many calls it takes. */
static bool unsettled(const pool *p, const bucket *b, const waiter *w) {
    if (!w->may_share || b->unshared || b->in_vain) {
        return false;
    }
    bool silent = false;
    for (const connection *c = b->shared; c != NULL; c = c->shared_next) {
        silent |= !mux_heard(c->mux) && !mux_closing(c->mux);
    }
    return silent || driven_dial(p, b);
}

static void set_diallers(pool *p, waiter *w) {
    __atomic_store_n(&p->diallers, w, __ATOMIC_SEQ_CST);
}

void pool_let_dial(pool *p, bucket *b, waiter *w) {
    w->place = b;
    w->dialling = w->may_share && !b->unshared && !b->in_vain;
    if (!w->dialling) {
        return;
    }
    if (b->dials++ == 0) {
        b->unsettled_since = clock_now();
    }
    w->dialling_before = NULL;
    w->dialling_after = p->diallers;
    if (p->diallers != NULL) {
        p->diallers->dialling_before = w;
    }
    set_diallers(p, w);
    p->impatience_due |= b->first != NULL;
}

/* When it was in vain nobody waits for the next one: of a server that hangs each hears for itself.
 */
void pool_dial_is_over(pool *p, bucket *b, waiter *w) {
    if (w->dialling) {
        b->in_vain |= w->in_vain;
        b->dials--;
        if (w->dialling_before != NULL) {
            w->dialling_before->dialling_after = w->dialling_after;
        } else {
            set_diallers(p, w->dialling_after);
        }
        if (w->dialling_after != NULL) {
            w->dialling_after->dialling_before = w->dialling_before;
        }
    }
    w->dialling = w->in_vain = false;
}

bool pool_grant(pool *p, bucket *b, waiter *w, nanoseconds now, connection **out) {
    *out = take_shared(p, b, w);
    if (*out != NULL) {
        return true;
    }
    bool full = b->in_use >= w->limit;
    if (full) {
        capacity_forgo(&b->claim); /* for those who can use it */
    }
    if (full || (unsettled(p, b, w) && now < patient_until(b, w)) || !begin_use(b, w)) {
        return false;
    }
    *out = w->opened_after == 0 ? pool_idle_take(p, b) : NULL;
    if (*out == NULL) {
        pool_let_dial(p, b, w);
    }
    return true;
}

static bool serve(pool *p, bucket *b, waiter *w, nanoseconds now) {
    connection *c;
    if (!pool_grant(p, b, w, now, &c)) {
        return false;
    }
    pool_queue_remove(p, w);
    w->granted = c;
    call(w);
    return true;
}

/* Ownership passes under the lock, so that no wake-up is lost; first come, first served. But those
 * whose driver is away would only keep it from the others: they are called, to ask when they are
 * back. And those for whom only a new connection will do let others have an old one. */
void pool_serve_waiters(pool *p, bucket *b) {
    for (waiter *w = b->first, *next; w != NULL; w = next) {
        next = w->next;
        if (waker_away(w->waker)) {
            call(w);
        } else if (!serve(p, b, w, 0) && w->opened_after == 0) {
            return;
        }
    }
}

static nanoseconds serve_impatient(pool *p, bucket *b, nanoseconds now) {
    nanoseconds next_due = NEVER;
    for (waiter *w = b->first, *next; w != NULL && unsettled(p, b, w); w = next) {
        next = w->next;
        nanoseconds due = patient_until(b, w);
        if (due > now) {
            next_due = clock_earlier(next_due, due);
        } else if (!waker_away(w->waker) && !serve(p, b, w, now)) {
            next_due = clock_earlier(next_due, now + POOL_PATIENCE); /* a limit is reached */
            break;
        }
    }
    return next_due;
}

nanoseconds pool_serve_impatient(pool *p, nanoseconds now) {
    nanoseconds next_due = NEVER;
    pthread_mutex_lock(&p->lock);
    for (uint32_t i = 0; i <= p->bucket_mask && p->count.waiting > 0; i++) {
        for (bucket *b = p->buckets[i]; b != NULL; b = b->chain) {
            next_due = clock_earlier(next_due, serve_impatient(p, b, now));
        }
    }
    pthread_mutex_unlock(&p->lock);
    return next_due;
}

void pool_leave_place(pool *p, bucket *b) {
    pool_end_use(b);
    pool_serve_waiters(p, b);
    pool_bucket_tidy(p, b);
}

const char *pool_why_waiting(pool *p, const waiter *w) {
    const char *why = "";
    pthread_mutex_lock(&p->lock);
    if (w->waiting && w->generation == p->generation) {
        const bucket *b = w->place;
        why = b->in_use >= w->limit
                  ? "as many connections as max_connections_per_host: allows are in use"
              : capacity_used() >= capacity_most()
                  ? "as many connections as max_connections allows the process are in use"
                  : "a connection that can be shared is being opened";
    }
    pthread_mutex_unlock(&p->lock);
    return why;
}

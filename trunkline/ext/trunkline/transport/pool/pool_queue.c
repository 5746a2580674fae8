#include "transport/http2/http2_connection.h"
#include "protocol/guard.h"
#include "pool_internal.h"

/* ---- waiting ---- */

void pool_queue_append(pool *p, bucket *b, pool_ticket *t) {
    t->bucket = b;
    t->waiting = true;
    t->since = clock_now();
    p->sharing_wait_check_due |= t->may_share;
    __atomic_store_n(&t->turn_due, false, __ATOMIC_RELEASE);
    list_append(&b->queue, &t->queue_node);
    p->count.waiting++;
}

void pool_queue_remove(pool *p, pool_ticket *t) {
    bucket *b = t->bucket;
    list_remove(&b->queue, &t->queue_node);
    t->waiting = false;
    p->count.waiting--;
    pool_ticket *first = LIST_FIRST(&b->queue, pool_ticket, queue_node);
    if (first == NULL)
        capacity_cancel(&b->claim);
    else if (b->claim.waker == t->waker)
        capacity_hand_over(&b->claim, first->waker);
}

/* Has the ticket's driver call pool_turn. */
static void make_turn_due(pool_ticket *t) {
    __atomic_store_n(&t->turn_due, true, __ATOMIC_RELEASE);
    waker_wake(t->waker);
}

bool pool_turn_due(const pool *p, const pool_ticket *t) {
    return __atomic_load_n(&t->turn_due, __ATOMIC_ACQUIRE) ||
           t->generation != __atomic_load_n(&p->generation, __ATOMIC_RELAXED) ||
           capacity_granted(&t->bucket->claim);
}

bool pool_has_active_waiter(const bucket *b) {
    LIST_EACH (const pool_ticket, t, &b->queue, queue_node)
        if (!waker_away(t->waker)) return true;
    return false;
}

/* ---- granting ---- */

/* Returns how many calls a shared connection may carry. Until its server has sent SETTINGS that is
 * the limit of the previous connection, or one without a previous connection, because a server
 * refuses streams beyond its limit. */
static uint32_t stream_limit(const bucket *b, const connection *c) {
    if (http2_connection_any_received(c->http2)) return http2_connection_max_streams(c->http2);
    return b->most > 0 ? b->most : 1;
}

/* Counts a connection, or a right to open one, as in use. Returns false when the process has
 * reached its limit. */
static bool begin_use(bucket *b, pool_ticket *t) {
    if (!capacity_take(&b->claim, t->waker)) return false;
    b->in_use++;
    return true;
}

void pool_end_use(bucket *b) {
    b->in_use--;
    capacity_release();
}

static connection *take_shared(pool *p, bucket *b, pool_ticket *t) {
    LIST_EACH (connection, c, &b->shared, bucket_node) {
        bool idle = c->streams == 0;
        if (c->opened_at < t->min_opened_at || http2_connection_closing(c->http2) ||
            c->streams >= stream_limit(b, c) ||
            (idle && (b->in_use >= t->limit || !begin_use(b, t))))
            continue;
        if (idle) pool_idle_unlink(p, c);
        c->streams++;
        c->uses++;
        p->count.reused++;
        return c;
    }
    return NULL;
}

static bool driven_dial(const pool *p, const bucket *b) {
    if (b->dials == 0) return false;
    LIST_EACH (const pool_ticket, t, &p->diallers, dial_node)
        if (t->bucket == b && !waker_away(t->waker)) return true;
    return false;
}

static nanoseconds sharing_wait_deadline(const bucket *b, const pool_ticket *t) {
    nanoseconds since = t->since > b->dialling_since ? t->since : b->dialling_since;
    return since + POOL_SHARING_WAIT;
}

/* Returns whether `t` should wait because a shared connection may soon take it: a connection is
 * being opened, or its server has not sent SETTINGS yet. */
static bool sharing_undecided(const pool *p, const bucket *b, const pool_ticket *t) {
    if (!t->may_share || b->unshared || b->dial_failed) return false;
    bool silent = false;
    LIST_EACH (const connection, c, &b->shared, bucket_node)
        silent |= !http2_connection_any_received(c->http2) && !http2_connection_closing(c->http2);
    return silent || driven_dial(p, b);
}

void pool_begin_dial(pool *p, bucket *b, pool_ticket *t) {
    t->bucket = b;
    t->dialling = t->may_share && !b->unshared && !b->dial_failed;
    if (!t->dialling) return;
    if (b->dials++ == 0) b->dialling_since = clock_now();
    list_prepend(&p->diallers, &t->dial_node);
    __atomic_add_fetch(&p->dialling, 1, __ATOMIC_SEQ_CST);
    p->sharing_wait_check_due |= b->queue.first != NULL;
}

/* After a dial in vain no call waits for the next dial: each dials itself, because the server may
 * hang. */
void pool_end_dial(pool *p, bucket *b, pool_ticket *t) {
    if (t->dialling) {
        b->dial_failed |= t->dial_failed;
        b->dials--;
        list_remove(&p->diallers, &t->dial_node);
        __atomic_sub_fetch(&p->dialling, 1, __ATOMIC_SEQ_CST);
    }
    t->dialling = t->dial_failed = false;
}

bool pool_grant(pool *p, bucket *b, pool_ticket *t, nanoseconds now, connection **out) {
    *out = take_shared(p, b, t);
    if (*out != NULL) return true;
    bool full = GUARD(MAX_CONNECTIONS_PER_HOST) && b->in_use >= t->limit;
    if (full) capacity_cancel(&b->claim); /* for buckets that can use it */
    if (full || (sharing_undecided(p, b, t) && now < sharing_wait_deadline(b, t)) ||
        !begin_use(b, t))
        return false;
    *out = t->min_opened_at == 0 ? pool_idle_take(p, b) : NULL;
    if (*out == NULL) pool_begin_dial(p, b, t);
    return true;
}

static bool serve(pool *p, bucket *b, pool_ticket *t, nanoseconds now) {
    connection *c;
    if (!pool_grant(p, b, t, now, &c)) return false;
    pool_queue_remove(p, t);
    t->granted = c;
    make_turn_due(t);
    return true;
}

/* Serves tickets first come, first served. Ownership passes under the lock, so that no wake-up is
 * lost. A ticket whose driver is away is passed over, and called so that the driver calls pool_turn
 * when it is back. A ticket that accepts new connections only does not block the tickets behind
 * it. */
void pool_serve_waiters(pool *p, bucket *b) {
    LIST_EACH (pool_ticket, t, &b->queue, queue_node)
        if (waker_away(t->waker))
            make_turn_due(t);
        else if (!serve(p, b, t, 0) && t->min_opened_at == 0)
            return;
}

static nanoseconds end_sharing_waits(pool *p, bucket *b, nanoseconds now) {
    nanoseconds next_due = NEVER;
    LIST_EACH (pool_ticket, t, &b->queue, queue_node) {
        if (!sharing_undecided(p, b, t)) break;
        nanoseconds due = sharing_wait_deadline(b, t);
        if (due > now) {
            next_due = clock_earlier(next_due, due);
        } else if (!waker_away(t->waker) && !serve(p, b, t, now)) {
            next_due = clock_earlier(next_due, now + POOL_SHARING_WAIT); /* a limit is reached */
            break;
        }
    }
    return next_due;
}

nanoseconds pool_end_sharing_waits(pool *p, nanoseconds now) {
    nanoseconds next_due = NEVER;
    pthread_mutex_lock(&p->lock);
    for (uint32_t i = 0; i <= p->bucket_mask && p->count.waiting > 0; i++)
        for (bucket *b = p->buckets[i]; b != NULL; b = b->chain)
            next_due = clock_earlier(next_due, end_sharing_waits(p, b, now));
    pthread_mutex_unlock(&p->lock);
    return next_due;
}

void pool_release_slot(pool *p, bucket *b) {
    pool_end_use(b);
    pool_serve_waiters(p, b);
    pool_bucket_tidy(p, b);
}

const char *pool_why_waiting(pool *p, const pool_ticket *t) {
    const char *why = "";
    pthread_mutex_lock(&p->lock);
    if (t->waiting && t->generation == p->generation) {
        const bucket *b = t->bucket;
        why = b->in_use >= t->limit
                  ? "as many connections as max_connections_per_host: allows are in use"
              : capacity_used() >= capacity_limit()
                  ? "as many connections as max_connections allows the process are in use"
                  : "a connection that can be shared is being opened";
    }
    pthread_mutex_unlock(&p->lock);
    return why;
}

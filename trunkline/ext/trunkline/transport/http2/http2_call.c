#include "http2_connection_internal.h"

#include <stdlib.h>

/* Whose turn it is: the leader, the followers, and the calls of a poller. */

static bool away(const mux_call *call) {
    return call->batch != NULL && __atomic_load_n(&call->batch->away, __ATOMIC_ACQUIRE);
}

/* Does a leader make do without this one? */
static bool yields_to(const mux_call *leader, const mux_call *call) {
    return leader == NULL || away(leader) || (leader->weak && !call->weak);
}

static void set_events(mux_call *call, short events) {
    __atomic_store_n(&call->events, events, __ATOMIC_RELEASE);
}

/* Whom it is enough to mark: the poller that steps this call will look at its others. */
static waker *own_waker(const mux_call *call) {
    return call->batch != NULL && !away(call) ? call->waker : NULL;
}

/* ---- followers ---- */

static void follow(mux *m, mux_call *call) {
    call->follows = true;
    mux_call *before = call->batch != NULL ? m->last : NULL;
    mux_call *after = call->batch != NULL ? NULL : m->first;
    call->previous = before;
    call->next = after;
    *(before != NULL ? &before->next : &m->first) = call;
    *(after != NULL ? &after->previous : &m->last) = call;
}

static void unfollow(mux *m, mux_call *call) {
    *(call->previous != NULL ? &call->previous->next : &m->first) = call->next;
    *(call->next != NULL ? &call->next->previous : &m->last) = call->previous;
    call->follows = false;
}

void mux_touch(mux_call *call, waker *own) {
    if (__atomic_exchange_n(&call->touched, true, __ATOMIC_ACQ_REL) ||
        !(call->follows || call->leading)) {
        return;
    }
    if (call->waker == own) {
        waker_mark(own);
    } else {
        waker_wake(call->waker);
    }
}

/* The first that is driven just now; `weak`: a fiber will do. */
static mux_call *able_follower(const mux *m, bool weak) {
    mux_call *call = m->first;
    while (call != NULL && (away(call) || (call->weak && !weak))) {
        call = call->next;
    }
    return call;
}

void mux_summon(mux *m, waker *own) {
    if (m->first == NULL || (m->leader != NULL && !away(m->leader))) {
        return;
    }
    mux_call *chosen = able_follower(m, false);
    if (chosen == NULL) {
        chosen = able_follower(m, true);
    }
    if (chosen != NULL) {
        mux_touch(chosen, own);
    } else if (m->leader == NULL) {
        mux_touch(m->first, own);
    }
}

/* ---- the leader ---- */

static bool has_led(const mux_batch *b, const mux *m) {
    for (int i = 0; i < b->led_count; i++) {
        if (b->led[i] == m) {
            return true;
        }
    }
    return false;
}

static bool room_for_led(mux_batch *b) {
    if (b->led_count < b->led_room) {
        return true;
    }
    int room = b->led_room > 0 ? b->led_room * 2 : MUX_BATCH;
    mux **wider = realloc(b->led, (size_t)room * sizeof(mux *));
    if (wider == NULL) {
        return false;
    }
    b->led = wider;
    b->led_room = room;
    return true;
}

/* A poller remembers what its calls lead, so as to let others when it is not driven. Without memory
 * for that the reaper reads for them, once a second. */
static void remember_led(mux_batch *b, mux *m) {
    if (m->remembered == b) {
        return;
    }
    if (!has_led(b, m)) {
        if (!room_for_led(b)) {
            return;
        }
        b->led[b->led_count++] = mux_keep(m);
    }
    m->remembered = b;
}

/* Under m's lock, which the caller releases before m. */
static void forget_led(const mux_batch *b, mux *m) {
    if (m->remembered == b) {
        m->remembered = NULL;
    }
}

static void lead(mux *m, mux_call *call) {
    mux_call *before = m->leader;
    if (before != NULL) {
        before->leading = false;
        set_events(before, 0);
        follow(m, before);
    }
    m->leader = call;
    call->leading = true;
    set_events(call, m->wants_read | m->wants_write);
    if (call->batch != NULL) {
        remember_led(call->batch, m);
    }
}

/* A fiber leads only when there is nobody else to do it. */
static mux_call *better_than(const mux *m, const mux_call *call) {
    mux_call *l = m->leader;
    if (!call->weak) {
        return NULL;
    }
    return l != NULL && !away(l) && !l->weak ? l : able_follower(m, false);
}

/* Who leaves something unwritten waits for the descriptor itself, or has whoever does look again.
 */
static void wait_here(mux *m, mux_call *call) {
    mux_call *able = better_than(m, call);
    bool full = m->wants_write != 0;
    if (able == NULL && (full || yields_to(m->leader, call))) {
        lead(m, call);
        return;
    }
    follow(m, call);
    if (able != NULL && (full || able != m->leader)) {
        mux_touch(able, NULL);
    }
}

static void stop_waiting(mux *m, mux_call *call) {
    if (m->leader == call) {
        m->leader = NULL;
    } else if (call->follows) {
        unfollow(m, call);
    }
    call->leading = false;
    set_events(call, 0);
}

/* ---- the requests that are not out yet ---- */

void mux_note_sent(mux *m) {
    nanoseconds now = m->sending != NULL ? clock_now() : 0;
    mux_call **link = &m->sending;
    while (*link != NULL) {
        mux_call *call = *link;
        if (call->stream->request_ends <= m->written) {
            call->sent_at = now;
            call->sending = false;
            *link = call->next_sending;
        } else {
            link = &call->next_sending;
        }
    }
}

static void forget_sending(mux *m, mux_call *call) {
    mux_call **link = &m->sending;
    while (*link != NULL && *link != call) {
        link = &(*link)->next_sending;
    }
    if (*link != NULL) {
        *link = call->next_sending;
    }
    call->sending = false;
}

int mux_sent(const mux_call *call) {
    const mux *m = call->mux;
    const http2_stream *s = call->stream;
    if (s == NULL) {
        return 0;
    }
    const tls *session = m->line->session;
    uint64_t handed = session != NULL ? tls_sent(session) : m->written;
    return s->request_ends <= m->written ? 2 : s->head_begins < handed ? 1 : 0;
}

/* ---- a step ---- */

bool mux_enter(mux_call *call) {
    mux *m = call->mux;
    pthread_mutex_lock(&m->lock);
    if (m->session == NULL) {
        pthread_mutex_unlock(&m->lock);
        return false;
    }
    __atomic_store_n(&call->touched, false, __ATOMIC_RELEASE);
    call->drained = false;
    stop_waiting(m, call);
    return true;
}

http2 *mux_session(mux *m) {
    return m->session;
}

const failure *mux_why(const mux *m) {
    return &m->why;
}

bool mux_open(mux_call *call, const char *scheme, const char *head, size_t length, bool body,
              bool head_request, const http1_limits *limits) {
    mux *m = call->mux;
    if (m->dead || http2_closing(m->session)) {
        return false;
    }
    if (http2_room(m->session) == 0) {
        mux_write(m, own_waker(call),
                  clock_now()); /* streams that were given up end with their reset */
    }
    call->stream =
        http2_request(m->session, scheme, head, length, body, head_request, limits, call);
    if (call->stream == NULL) {
        return false;
    }
    call->sent_at = -1;
    call->sending = true;
    call->next_sending = m->sending;
    m->sending = call;
    return true;
}

bool mux_may_read(const mux_call *call) {
    const mux *m = call->mux;
    return !m->dead && !call->drained && yields_to(m->leader, call);
}

bool mux_read(mux_call *call, nanoseconds now) {
    bool more = mux_pump_once(call->mux, own_waker(call), now);
    call->drained = !more;
    return more;
}

/* A batch writes once for all of its calls. */
static void write_or_put_off(mux *m, mux_call *call, nanoseconds now) {
    mux_batch *b = away(call) ? NULL : call->batch;
    if (m->dead || !(http2_wants_output(m->session) || buffer_length(&m->output) > 0)) {
        return;
    }
    for (int i = 0; b != NULL && i < b->count; i++) {
        if (b->muxes[i] == m) {
            return;
        }
    }
    if (b != NULL && b->count < MUX_BATCH && m->wants_write == 0) {
        b->muxes[b->count++] = mux_keep(m);
        return;
    }
    mux_write(m, own_waker(call), now);
}

static bool unlock(mux *m) {
    bool news = m->news;
    m->news = false;
    pthread_mutex_unlock(&m->lock);
    return news;
}

void mux_flush(mux_call *call, nanoseconds now) {
    __atomic_store_n(&call->touched, false, __ATOMIC_RELEASE);
    write_or_put_off(call->mux, call, now);
}

bool mux_leave(mux_call *call, bool waits) {
    mux *m = call->mux;
    if (waits) {
        wait_here(m, call);
        /* A loop on edges is not told of what lay there before. */
        bool unseen = call->leading && (m->unread || (call->batch != NULL && !call->drained));
        call->again = call->touched || unseen;
    }
    mux_summon(m, own_waker(call));
    return unlock(m);
}

bool mux_quit(mux_call *call, nanoseconds now) {
    mux *m = call->mux;
    if (call->sending) {
        forget_sending(m, call);
    }
    if (call->stream != NULL) {
        http2_release(m->session, call->stream);
        call->stream = NULL;
    }
    write_or_put_off(m, call, now);
    mux_summon(m, own_waker(call));
    return unlock(m);
}

/* ---- a poller's calls ---- */

/* What could not be written needs a call that waits for the descriptor. */
static void find_writer(mux *m, waker *own) {
    mux_call *chosen = m->leader != NULL && !away(m->leader) ? m->leader : m->first;
    for (mux_call *call = m->first; call != NULL; call = call->next) {
        chosen = call->waker == own ? call : chosen;
    }
    if (chosen != NULL) {
        mux_touch(chosen, own);
    }
}

void mux_batch_flush(mux_batch *b, waker *own) {
    nanoseconds now = b->count > 0 ? clock_now() : 0;
    while (b->count > 0) {
        mux *m = b->muxes[--b->count];
        pthread_mutex_lock(&m->lock);
        if (m->session != NULL) {
            mux_write(m, own, now);
            if (m->wants_write != 0) {
                find_writer(m, own);
            }
        }
        pthread_mutex_unlock(&m->lock);
        mux_release(m);
    }
}

void mux_batch_depart(mux_batch *b) {
    if (b->away) {
        return;
    }
    __atomic_store_n(&b->away, true, __ATOMIC_RELEASE);
    int kept = 0;
    for (int i = 0; i < b->led_count; i++) {
        mux *m = b->led[i];
        pthread_mutex_lock(&m->lock);
        bool ours = m->session != NULL && m->leader != NULL && m->leader->batch == b;
        if (ours) {
            mux_summon(m, NULL);
        } else {
            forget_led(b, m);
        }
        pthread_mutex_unlock(&m->lock);
        if (ours) {
            b->led[kept++] = m;
        } else {
            mux_release(m);
        }
    }
    b->led_count = kept;
}

void mux_batch_arrive(mux_batch *b) {
    __atomic_store_n(&b->away, false, __ATOMIC_RELEASE);
}

mux_batch *mux_batch_new(void) {
    mux_batch *b = calloc(1, sizeof(*b));
    if (b != NULL) {
        b->references = 1;
    }
    return b;
}

mux_batch *mux_batch_keep(mux_batch *b) {
    __atomic_add_fetch(&b->references, 1, __ATOMIC_RELAXED);
    return b;
}

void mux_batch_drop(mux_batch *b) {
    if (b != NULL && __atomic_sub_fetch(&b->references, 1, __ATOMIC_ACQ_REL) == 0) {
        free(b->led);
        free(b);
    }
}

void mux_batch_close(mux_batch *b) {
    mux_batch_flush(b, NULL);
    mux_batch_depart(b);
    while (b->led_count > 0) {
        mux *m = b->led[--b->led_count];
        pthread_mutex_lock(&m->lock);
        forget_led(b, m);
        pthread_mutex_unlock(&m->lock);
        mux_release(m);
    }
    mux_batch_drop(b);
}

#include "http2_connection_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define READS_AT_ONCE 16           /* of those who read for others alone */
#define SILENCE (30 * SECOND)      /* after which a server is asked whether it is there, */
#define ANSWER_WITHIN (5 * SECOND) /* and how long it may take to say so */

/* ---- facts ---- */

static void tell_touched(mux *m, waker *own) {
    for (http2_stream *s; (s = http2_next_touched(m->session)) != NULL;) {
        mux_touch(s->owner, own);
    }
}

static void refresh(mux *m) {
    bool closing = m->dead || m->retired || http2_closing(m->session);
    uint32_t most = http2_most_streams(m->session);
    if (closing != m->closing || most != m->most || (!m->heard && m->heard_at > 0)) {
        m->news = true;
        __atomic_store_n(&m->most, most, __ATOMIC_RELAXED);
        __atomic_store_n(&m->heard, m->heard_at > 0, __ATOMIC_RELAXED);
        __atomic_store_n(&m->closing, closing, __ATOMIC_RELEASE);
    }
}

uint32_t mux_most(const mux *m) {
    return __atomic_load_n(&m->most, __ATOMIC_RELAXED);
}

bool mux_closing(const mux *m) {
    return __atomic_load_n(&m->closing, __ATOMIC_ACQUIRE);
}

bool mux_heard(const mux *m) {
    return __atomic_load_n(&m->heard, __ATOMIC_RELAXED);
}

/* ---- reading and writing ---- */

/* Whoever waits for the descriptor finds it readable from now on. */
static void die(mux *m, const failure *why, waker *own) {
    m->dead = true;
    m->why = *why;
    m->unread = false;
    m->wants_write = 0;
    buffer_clear(&m->output);
    http2_end(m->session, why->code);
    tell_touched(m, own);
    refresh(m);
    if (m->line->descriptor >= 0) {
        shutdown(m->line->descriptor, SHUT_RDWR);
    }
}

static void die_of(mux *m, failure_code code, const char *detail, waker *own) {
    failure why;
    failure_set(&why, code, PHASE_READ, 0, "%s", detail != NULL ? detail : "");
    die(m, &why, own);
}

/* What was read did not make sense: the server is told so, if that goes without waiting. */
static void refuse(mux *m, failure_code code, waker *own, nanoseconds now) {
    tell_touched(m, own);
    m->closing = true; /* nobody waits for what becomes of this write */
    mux_write(m, own, now);
    if (!m->dead) {
        die_of(m, code, http2_detail(m->session), own);
    }
}

bool mux_pump_once(mux *m, waker *own, nanoseconds now) {
    failure f = {0};
    size_t count = 0;
    if (m->dead) {
        return false;
    }
    io_result io = connection_read(m->line, m->input, MUX_READ, &count, &f);
    m->wants_read = io == IO_WRITE ? POLLOUT : POLLIN;
    m->unread = io == IO_DONE;
    if (io == IO_DONE) {
        m->heard_at = now;
        m->pinged_at = 0;
        failure_code code = http2_input(m->session, m->input, count);
        if (code != FAILURE_NONE) {
            refuse(m, code, own, now);
            return false;
        }
        tell_touched(m, own);
        refresh(m);
        return true;
    }
    if (io == IO_FAILED) {
        die(m, &f, own);
    } else if (io != IO_READ && io != IO_WRITE) {
        die_of(m, FAILURE_CLOSED, NULL, own);
    }
    return false;
}

/* Writing broke: an answer, or the reason, may lie there all the same. */
static void writing_broke(mux *m, const failure *f, waker *own, nanoseconds now) {
    failure why = *f;
    m->write_broken = true;
    m->wants_write = 0;
    buffer_clear(&m->output);
    while (mux_pump_once(m, own, now)) {
    }
    if (!m->dead) {
        die(m, &why, own);
    }
}

/* Something to be written, if there is any. False: there is not, or no memory. */
static bool frame_more(mux *m) {
    if (buffer_length(&m->output) > 0) {
        return true;
    }
    return http2_wants_output(m->session) && http2_output(m->session, &m->output, MUX_READ) &&
           buffer_length(&m->output) > 0;
}

void mux_write(mux *m, waker *own, nanoseconds now) {
    bool any = false;
    m->wants_write = 0;
    while (!m->dead && !m->write_broken && frame_more(m)) {
        failure f = {0};
        size_t count = 0, length = buffer_length(&m->output);
        io_result io = connection_write(m->line, buffer_head(&m->output), length, &count, &f);
        if (io == IO_FAILED) {
            writing_broke(m, &f, own, now);
            return;
        }
        if (io != IO_DONE) {
            m->wants_write = io == IO_READ ? POLLIN : POLLOUT;
            break;
        }
        buffer_consume(&m->output, count);
        m->written += count;
        any = true;
    }
    if (any) {
        mux_note_sent(m);
        tell_touched(m, own);
        refresh(m);
    }
}

/* ---- for those who have no call on it ---- */

static bool nobody_reads(const mux *m) {
    const mux_call *l = m->leader;
    return l == NULL || l->weak ||
           (l->batch != NULL && __atomic_load_n(&l->batch->away, __ATOMIC_ACQUIRE));
}

static void take_in(mux *m, nanoseconds now) {
    for (int reads = 0; reads < READS_AT_ONCE && mux_pump_once(m, NULL, now); reads++) {
    }
    mux_write(m, NULL, now);
}

void mux_retire(mux *m) {
    pthread_mutex_lock(&m->lock);
    if (m->session != NULL) {
        m->retired = true;
        refresh(m);
    }
    pthread_mutex_unlock(&m->lock);
}

/* A server that computes may leave a PING waiting, and answer its calls all the same: those that
 * wait already do so for as long as their callers said; those to come have another connection. */
static void doubt(mux *m, nanoseconds now) {
    take_in(m, now); /* whoever was to read may be late */
    if (m->dead || m->pinged_at == 0) {
        return;
    }
    if (http2_open_streams(m->session) > 0) {
        http2_goodbye(m->session);
        mux_write(m, NULL, now);
        refresh(m);
    } else {
        die_of(m, FAILURE_CLOSED, "the server no longer answers", NULL);
    }
}

/* Some servers count PINGs and close the connection of a client that sends many. */
static void ask_whether_alive(mux *m, nanoseconds now) {
    nanoseconds heard_at = m->heard_at > 0 ? m->heard_at : m->line->born;
    if (!m->dead && m->pinged_at == 0 && now - heard_at >= SILENCE && http2_ping(m->session)) {
        m->pinged_at = now;
        mux_write(m, NULL, now);
    }
}

/* One that is idle is not asked before it is used again. */
static void see_whether_alive(mux *m, nanoseconds now) {
    if (m->pinged_at > 0 && now - m->pinged_at >= ANSWER_WITHIN) {
        doubt(m, now);
    } else if (http2_open_streams(m->session) > 0) {
        ask_whether_alive(m, now);
    }
}

bool mux_look(mux *m) {
    nanoseconds now = clock_now();
    pthread_mutex_lock(&m->lock);
    bool usable = m->session != NULL;
    if (usable) {
        if (http2_open_streams(m->session) == 0 && nobody_reads(m)) {
            take_in(m, now);
        }
        ask_whether_alive(m, now);
        refresh(m);
        usable = !m->closing;
    }
    pthread_mutex_unlock(&m->lock);
    return usable;
}

bool mux_tend(mux *m, nanoseconds now) {
    pthread_mutex_lock(&m->lock);
    if (m->session == NULL) {
        pthread_mutex_unlock(&m->lock);
        return false;
    }
    if (nobody_reads(m)) {
        take_in(m, now);
    }
    http2_calm(m->session);
    see_whether_alive(m, now);
    mux_summon(m, NULL);
    bool news = m->news;
    m->news = false;
    pthread_mutex_unlock(&m->lock);
    return news;
}

void mux_goodbye(mux *m) {
    pthread_mutex_lock(&m->lock);
    if (m->session != NULL && !m->dead) {
        http2_goodbye(m->session);
        mux_write(m, NULL, clock_now());
    }
    pthread_mutex_unlock(&m->lock);
}

/* ---- birth, death, fork ---- */

bool mux_begin(connection *c) {
    mux *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return false;
    }
    m->session = http2_new(&http2_default_limits);
    m->input = malloc(MUX_READ);
    if (m->session == NULL || m->input == NULL) {
        http2_free(m->session);
        free(m->input);
        free(m);
        return false;
    }
    pthread_mutex_init(&m->lock, NULL);
    m->references = 1;
    m->line = c;
    m->wants_read = POLLIN;
    m->most = http2_most_streams(m->session);
    c->mux = m;
    return true;
}

mux *mux_keep(mux *m) {
    __atomic_add_fetch(&m->references, 1, __ATOMIC_RELAXED);
    return m;
}

void mux_release(mux *m) {
    if (m == NULL || __atomic_sub_fetch(&m->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    bool polite = m->session != NULL && !m->dead;
    http2_free(m->session);
    connection_destroy(m->line, polite);
    pthread_mutex_destroy(&m->lock);
    buffer_free(&m->output);
    free(m->input);
    free(m);
}

void mux_before_fork(mux *m) {
    pthread_mutex_lock(&m->lock);
}

/* In the child the session is left alone for good, with all that its streams hold. */
void mux_after_fork(mux *m, bool child) {
    if (child) {
        pthread_mutex_init(&m->lock, NULL);
        m->session = NULL;
        m->dead = m->closing = true;
        failure_set(&m->why, FAILURE_FORKED, PHASE_READ, 0, NULL);
        return;
    }
    pthread_mutex_unlock(&m->lock);
}

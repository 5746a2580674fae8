#ifndef TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_H
#define TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_H

#include "protocol/http2/http2.h"
#include "transport/pool/connection.h"
#include "transport/events/waker.h"

#include <poll.h>

/*
 * One HTTP/2 connection, shared by all calls that have a stream on it. Nobody reads it in the
 * background: of the calls that wait one leads, and waits for the descriptor; the others follow,
 * and wait for their wakers. Whoever steps a call on it holds its lock for as long as that step
 * takes, which never blocks. The lock is taken after the pool's, or without it, never before.
 */
typedef struct mux mux;

#define MUX_BATCH 8

/* What the calls of one poller share: they are flushed together, and one of them leads for all. */
typedef struct {
    unsigned references;   /* atomic */
    mux *muxes[MUX_BATCH]; /* on which something may lie to be written; a reference each */
    int count;             /* ... and those beyond MUX_BATCH are written at once */
    mux **led; /* owned; of which one of the calls (at some time) was the leader; the same */
    int led_count, led_room;
    bool away; /* nobody drives the poller just now: its calls cannot lead (atomic) */
} mux_batch;

/* A call's dealings with a mux: embedded in the call, and not moved while it has one. */
typedef struct mux_call {
    mux *mux; /* one reference; NULL: none */
    http2_stream *stream;
    waker *waker;     /* borrowed: its driver's */
    mux_batch *batch; /* borrowed; NULL: it is driven alone */
    bool weak; /* its driver is a fiber, whose thread may be busy: others lead rather than it */
    nanoseconds sent_at; /* when the last byte of the request was written; -1: not yet */
    /* the mux's own */
    bool leading; /* its driver waits for the descriptor (atomic) */
    bool touched; /* something has come for it (atomic) */
    bool follows; /* it is among the followers */
    bool drained; /* in this step everything was read */
    bool again;   /* it need not wait: more can be done at once */
    short events; /* what to wait for, when it leads */
    struct mux_call *previous, *next;
    struct mux_call *next_sending;
    bool sending;
} mux_call;

/* Takes `c`, which has been dialled, as the connection of a new session; c->mux is it from now on,
 * with one reference. False: no memory. */
bool mux_begin(connection *c);

mux *mux_keep(mux *m);
void mux_release(mux *m); /* the last one closes the connection and frees it */

/* No more calls: says goodbye, as far as that goes without waiting. */
void mux_goodbye(mux *m);

/* It takes no more calls; those that it has go on. */
void mux_retire(mux *m);

/* The look before a call is put on it: is it alive, and does it take more? What lies there unread
 * is taken in when nobody else does. A server that has been silent for long is sent a PING, which
 * goes before the call; nobody waits for its answer. */
bool mux_look(mux *m);

/* Facts that may be asked for at any time, without the lock: how many calls it carries at once;
 * whether it takes none any more; whether the server has said anything yet. */
uint32_t mux_most(const mux *m);
bool mux_closing(const mux *m);
bool mux_heard(const mux *m);

/* For the reaper: takes in what lies there when nobody leads, and asks by a PING whether the server
 * is alive when it has been silent for long though calls wait for it. One that does not answer gets
 * no new calls. True: its facts have changed. */
bool mux_tend(mux *m, nanoseconds now);

/* ---- a call's step: between mux_enter and mux_leave the caller has the lock ---- */

/* False: the connection is the parent process's (no lock is held then). */
bool mux_enter(mux_call *call);

/* Of the session itself, for the one who has entered. */
http2 *mux_session(mux *m);

/* Opens its stream: see http2_request. False: see `room`. */
bool mux_open(mux_call *call, const char *scheme, const char *head, size_t length, bool body,
              bool head_request, const http1_limits *limits);

/* May this step read (nobody else is to)? */
bool mux_may_read(const mux_call *call);

/* Reads once and takes apart what came. False: there is nothing more just now. */
bool mux_read(mux_call *call, nanoseconds now);

/* How far the request has gone out: SENT of exchange.h in its order, 0 to 2. */
int mux_sent(const mux_call *call);

/* Why the connection is of no further use; code FAILURE_NONE: it is not known to be. */
const failure *mux_why(const mux *m);

/* Writes what is to be written, or leaves that to the batch. */
void mux_flush(mux_call *call, nanoseconds now);

/* Ends the step. `waits`: the call will wait, as the leader or a follower. True: the mux's facts
 * have changed, see pool_reconsider. */
bool mux_leave(mux_call *call, bool waits);

/* Ends the call: its stream is reset unless it was over. The caller has entered, and leaves by
 * this; what is left to do is to release the reference. */
bool mux_quit(mux_call *call, nanoseconds now);

/* ---- a poller's calls ---- */

/* Writes what the steps of a round have left. */
void mux_batch_flush(mux_batch *b, waker *own);

/* Nobody will drive the poller for a while: others may lead. And somebody does again. */
void mux_batch_depart(mux_batch *b);
void mux_batch_arrive(mux_batch *b);
mux_batch *mux_batch_new(void); /* one reference; NULL: no memory */
mux_batch *mux_batch_keep(mux_batch *b);
void mux_batch_drop(mux_batch *b); /* NULL is fine */

/* The poller is no more, but some of its calls may be. */
void mux_batch_close(mux_batch *b);

/* ---- fork: for all of a pool's, under the pool's lock ---- */

void mux_before_fork(mux *m);
void mux_after_fork(mux *m, bool child);

#endif

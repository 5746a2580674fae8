#ifndef TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_H
#define TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_H

#include "protocol/http2/http2.h"
#include "transport/connection/connection.h"
#include "transport/events/waker.h"

#include <poll.h>

/*
 * One HTTP/2 connection, shared by all calls that have a stream on it. Nobody reads it in the
 * background: of the calls that wait one leads, and waits for the descriptor; the others follow,
 * and wait for their wakers. Whoever steps a call on it holds its lock for as long as that step
 * takes, which never blocks. The lock is taken after the pool's, or without it, never before.
 */
typedef struct http2_connection http2_connection;

#define HTTP2_BATCH_SIZE 8

/* What the calls of one exchange loop share: they are flushed together, and one of them leads for
 * all. */
typedef struct {
    unsigned references; /* atomic */
    /* On which something may lie to be written, a reference each; those beyond HTTP2_BATCH_SIZE are
     * written at once. */
    http2_connection *unflushed[HTTP2_BATCH_SIZE];
    int count;
    /* Of which one of the calls (at some time) was the leader, a reference each; owned. */
    http2_connection **led;
    int led_count, led_room;
    bool away; /* nobody drives the exchange loop just now: its calls cannot lead (atomic) */
} http2_batch;

/* A call's dealings with an HTTP/2 connection: embedded in the call, and not moved while it has
 * one. */
typedef struct http2_call {
    http2_connection *http2; /* one reference; NULL: none */
    http2_stream *stream;
    waker *waker;       /* borrowed: its driver's */
    http2_batch *batch; /* borrowed; NULL: it is driven alone */
    bool weak; /* its driver is a fiber, whose thread may be busy: others lead rather than it */
    nanoseconds sent_at; /* when the last byte of the request was written; -1: not yet */
    /* the connection's own */
    bool leading; /* its driver waits for the descriptor (atomic) */
    bool touched; /* something has come for it (atomic) */
    bool follows; /* it is among the followers */
    bool drained; /* in this step everything was read */
    bool again;   /* it need not wait: more can be done at once */
    short events; /* what to wait for, when it leads */
    list_node follower_node;
    list_node sending_node;
    bool sending; /* its request is not out yet */
} http2_call;

/* Takes `c`, which has been dialled, as the connection of a new session; c->http2 is it from now
 * on, with one reference. False: no memory. */
bool http2_connection_begin(connection *c);

http2_connection *http2_connection_keep(http2_connection *h);

/* Gives a reference up; the last one closes the connection and frees it. NULL is fine. */
void http2_connection_release(http2_connection *h);

/* No more calls: says goodbye, as far as that goes without waiting. */
void http2_connection_goodbye(http2_connection *h);

/* It takes no more calls; those that it has go on. */
void http2_connection_retire(http2_connection *h);

/* The check before a call is put on it: is it alive, and does it take more? What lies there unread
 * is taken in when nobody else does. A server that has been silent for long is sent a PING, which
 * goes before the call; nobody waits for its answer. */
bool http2_connection_check_alive(http2_connection *h);

/* Facts that may be asked for at any time, without the lock: how many calls it carries at once;
 * whether it takes none any more; whether the server has said anything yet. */
uint32_t http2_connection_max_streams(const http2_connection *h);
bool http2_connection_closing(const http2_connection *h);
bool http2_connection_heard(const http2_connection *h);

/* For the reaper: takes in what lies there when nobody leads, and asks by a PING whether the server
 * is alive when it has been silent for long though calls wait for it. One that does not answer gets
 * no new calls. True: its facts have changed. */
bool http2_connection_tend(http2_connection *h, nanoseconds now);

/* ---- a call's step: between http2_call_enter and http2_call_leave the caller has the lock ---- */

/* False: the connection is the parent process's (no lock is held then). */
bool http2_call_enter(http2_call *call);

/* Of the session itself, for the one who has entered. */
http2 *http2_connection_session(http2_connection *h);

/* Opens its stream: see http2_request. False: see `room`. */
bool http2_call_open(http2_call *call, const char *scheme, const char *head, size_t length,
                     bool body, bool head_request, const http1_limits *limits);

/* May this step read (nobody else is to)? */
bool http2_call_may_read(const http2_call *call);

/* Reads once and takes apart what came. False: there is nothing more just now. */
bool http2_call_read(http2_call *call, nanoseconds now);

/* How far the request has gone out: SENT of exchange.h in its order, 0 to 2. */
int http2_call_sent(const http2_call *call);

/* Why the connection is of no further use; code FAILURE_NONE: it is not known to be. */
const failure *http2_connection_why(const http2_connection *h);

/* Writes what is to be written, or leaves that to the batch. */
void http2_call_flush(http2_call *call, nanoseconds now);

/* Ends the step. `waits`: the call will wait, as the leader or a follower. True: the connection's
 * facts have changed, see pool_reconsider. */
bool http2_call_leave(http2_call *call, bool waits);

/* Ends the call: its stream is reset unless it was over. The caller has entered, and leaves by
 * this; what is left to do is to release the reference. */
bool http2_call_quit(http2_call *call, nanoseconds now);

/* ---- an exchange loop's calls ---- */

/* Writes what the steps of a round have left. */
void http2_batch_flush(http2_batch *b, waker *own);

/* Nobody will drive the exchange loop for a while: others may lead. And somebody does again. */
void http2_batch_depart(http2_batch *b);
void http2_batch_arrive(http2_batch *b);
http2_batch *http2_batch_new(void); /* one reference; NULL: no memory */
http2_batch *http2_batch_keep(http2_batch *b);
void http2_batch_drop(http2_batch *b); /* NULL is fine */

/* The exchange loop is no more, but some of its calls may be. */
void http2_batch_close(http2_batch *b);

/* ---- fork: for all of a pool's, under the pool's lock ---- */

void http2_connection_before_fork(http2_connection *h);
void http2_connection_after_fork(http2_connection *h, bool child);

#endif

#ifndef TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_H
#define TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_H

#include "protocol/http2/http2.h"
#include "transport/connection/connection.h"
#include "transport/events/waker.h"

#include <poll.h>

/*
 * One HTTP/2 connection, shared by all calls that have a stream on it. No thread reads it in the
 * background: of the calls that wait one is the leader, which waits for the descriptor and reads
 * for all; the others are followers, which wait for their wakers. Each step of a call holds the
 * connection's lock and never blocks. Lock order: the pool's lock first, then this one.
 */
typedef struct http2_connection http2_connection;

#define HTTP2_BATCH_SIZE 8

/* What the calls of one exchange loop share: their connections are written once a round, and one of
 * them leads for all. */
typedef struct {
    unsigned references; /* atomic */
    /* Connections with output to be written, one reference each; further ones than
     * HTTP2_BATCH_SIZE are written at once. */
    http2_connection *unflushed[HTTP2_BATCH_SIZE];
    int count;
    /* Connections that a call of the loop leads, or led; one reference each; owned. */
    http2_connection **led;
    int led_count, led_room;
    bool away; /* atomic; nobody drives the exchange loop: its calls cannot lead */
} http2_batch;

/* A call on an HTTP/2 connection: embedded in the exchange, and not moved while it has one. */
typedef struct http2_call {
    http2_connection *http2; /* one reference; NULL: none */
    http2_stream *stream;
    waker *waker;       /* borrowed: its driver's */
    http2_batch *batch; /* borrowed; NULL: it is driven alone */
    bool weak; /* its driver is a fiber, whose thread may be busy: others are preferred as leader */
    nanoseconds sent_at; /* when the last byte of the request was written; -1: not yet */
    nanoseconds came_at; /* when something came for it that it has not taken yet; -1: nothing has */
    /* the connection's own */
    bool leading; /* it is the leader */
    bool touched; /* atomic; something has come for it */
    bool follows; /* it is a follower */
    bool drained; /* this step has read to EAGAIN */
    bool again;   /* it need not wait: more can be done at once */
    short events; /* atomic; what a leader's driver polls for */
    list_node follower_node;
    list_node sending_node;
    bool sending; /* its request is not out yet */
} http2_call;

/* Begins HTTP/2 on the new connection `c`: sets c->http2, with one reference, which owns `c` from
 * now on. Returns false without memory; `c` is unchanged then. */
bool http2_connection_begin(connection *c);

http2_connection *http2_connection_keep(http2_connection *h);

/* Gives a reference up; the last one closes the connection and frees both. NULL is fine. */
void http2_connection_release(http2_connection *h);

/* Sends GOAWAY, as far as that goes without waiting; takes no more calls. */
void http2_connection_goodbye(http2_connection *h);

/* Takes no more calls; those under way go on. */
void http2_connection_retire(http2_connection *h);

/* The check before a new call: is the connection alive, and does it take more calls? Reads what has
 * arrived if no call reads it. A server that has been silent for long is sent a PING ahead of the
 * call, whose acknowledgement is not waited for. */
bool http2_connection_check_alive(http2_connection *h);

/* State that may be read at any time, without the lock: how many streams the server allows; whether
 * the connection takes no more calls; whether the server has sent anything yet, and has said that
 * it takes extended CONNECT. */
uint32_t http2_connection_max_streams(const http2_connection *h);
bool http2_connection_closing(const http2_connection *h);
bool http2_connection_heard(const http2_connection *h);
bool http2_connection_takes_connect(const http2_connection *h); /* RFC 8441 */

/* Called by the reaper: reads what has arrived when no call leads, and sends a PING when the server
 * has been silent for long although calls wait. A server that does not acknowledge it gets no new
 * calls. Returns true when the state above has changed. */
bool http2_connection_tend(http2_connection *h, nanoseconds now);

/* ---- a call's step: between http2_call_enter and http2_call_leave the caller has the lock ---- */

/* Begins a step and takes the lock. Returns false, without the lock, when the connection belongs to
 * the parent process. */
bool http2_call_enter(http2_call *call);

/* The HTTP/2 session, to be used within a step. */
http2 *http2_connection_session(http2_connection *h);

/* Opens the call's stream; see http2_request. Returns false without memory, or when the connection
 * takes no further stream. */
bool http2_call_open(http2_call *call, const char *scheme, const char *head, size_t length,
                     bool body, bool head_request, const http1_limits *limits);

/* May this step read? Not while another call leads. */
bool http2_call_may_read(const http2_call *call);

/* Reads once and parses what came. Returns false when nothing more has arrived. */
bool http2_call_read(http2_call *call, nanoseconds now);

/* How many bytes of the request's body were certainly handed to the connection. */
uint64_t http2_call_body_sent(const http2_call *call);

/* Is all that was framed on the connection with the system? */
bool http2_call_written(const http2_call *call);

/* How much of the request was sent, or cannot be kept from being sent: a sent_state of exchange.h,
 * as a number. */
int http2_call_sent(const http2_call *call);

/* Why the connection has failed; its code is FAILURE_NONE when it has not. */
const failure *http2_connection_why(const http2_connection *h);

/* Writes the session's output, or leaves that to the batch. */
void http2_call_flush(http2_call *call, nanoseconds now);

/* Ends the step and releases the lock. With `waits` the call waits from now on, as the leader or a
 * follower. Returns true when the connection's state has changed: call pool_reconsider then. */
bool http2_call_leave(http2_call *call, bool waits);

/* Ends the call and the step: the stream is reset unless it is complete, and the lock released. The
 * caller still has its reference. Returns as http2_call_leave. */
bool http2_call_quit(http2_call *call, nanoseconds now);

/* Ends the step, and makes `to` (zeroed), whose driver has the waker `w`, the call on the stream.
 * `from` has none any more; its reference goes along. */
void http2_call_move(http2_call *from, http2_call *to, waker *w);

/* ---- an exchange loop's calls ---- */

/* Writes the output that the steps of a round have left. `own`: see http2_call_touch. */
void http2_batch_flush(http2_batch *b, waker *own);

/* Between these two nobody drives the exchange loop, and calls of other drivers lead. */
void http2_batch_depart(http2_batch *b);
void http2_batch_arrive(http2_batch *b);
http2_batch *http2_batch_new(void); /* one reference; NULL: no memory */
http2_batch *http2_batch_keep(http2_batch *b);
void http2_batch_drop(http2_batch *b); /* NULL is fine */

/* The exchange loop is freed, while some of its calls may go on. Gives up its reference. */
void http2_batch_close(http2_batch *b);

/* ---- fork: for all of a pool's connections, under the pool's lock ---- */

void http2_connection_before_fork(http2_connection *h);
void http2_connection_after_fork(http2_connection *h, bool child);

#endif

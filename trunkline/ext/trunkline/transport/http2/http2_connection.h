#ifndef TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_H
#define TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_H

#include "protocol/http2/http2.h"
#include "transport/connection/connection.h"
#include "transport/events/waker.h"

#include <poll.h>

/*
 * One HTTP/2 connection, shared by all calls that have a stream on it. No thread reads it in the
 * background: one of the waiting calls is the leader, which waits for the descriptor and reads for
 * all calls; the other waiting calls are followers, which wait for their wakers. Each step of a
 * call holds the connection's lock and never blocks. Lock order: the pool's lock first, then this
 * one.
 */
typedef struct http2_connection http2_connection;

#define HTTP2_BATCH_SIZE 8

/* State that the calls of one exchange loop share: their connections are written once a round, and
 * one call of the loop leads for the others. */
typedef struct {
    unsigned references; /* atomic */
    /* Connections with output to be written, one reference each; beyond HTTP2_BATCH_SIZE a
     * connection is written immediately. */
    http2_connection *unflushed[HTTP2_BATCH_SIZE];
    int count;
    /* Connections that a call of the loop leads, or led; one reference each; owned. */
    http2_connection **led;
    int led_count, led_room;
    bool away; /* atomic; the exchange loop is not driven: its calls cannot lead */
} http2_batch;

/* A call on an HTTP/2 connection: embedded in an exchange or a switched stream, and not moved while
 * it has a connection. */
typedef struct http2_call {
    http2_connection *http2; /* one reference; NULL: none */
    http2_stream *stream;
    waker *waker;       /* borrowed; the driver's */
    http2_batch *batch; /* borrowed; NULL: no exchange loop */
    bool fiber_driven; /* the driver is a fiber, whose thread may be busy: other calls lead first */
    nanoseconds sent_at;    /* when the last byte of the request was written; -1: not yet */
    nanoseconds arrived_at; /* when bytes arrived that the call has not taken; -1: none have */
    /* The fields below belong to the connection. */
    bool leading;   /* the call is the leader */
    bool has_input; /* atomic; something has arrived for the call */
    bool follows;   /* the call is a follower */
    bool drained;   /* this step has read to EAGAIN */
    bool again;     /* the call can continue without waiting */
    short events;   /* atomic; the poll events that a leader's driver waits for */
    list_node follower_node;
    list_node sending_node;
    bool sending; /* its request is not written completely */
} http2_call;

/* Begins HTTP/2 on the new connection `c`: sets c->http2, with one reference, which owns `c` from
 * now on. Returns false when out of memory; `c` is unchanged then. */
bool http2_connection_begin(connection *c);

/* Adds a reference. Returns `h`. */
http2_connection *http2_connection_keep(http2_connection *h);

/* Releases a reference; the last one closes the connection and frees it and its struct connection.
 * NULL is fine. */
void http2_connection_release(http2_connection *h);

/* Sends GOAWAY, as far as possible without waiting; the connection accepts no more calls. */
void http2_connection_send_goaway(http2_connection *h);

/* Makes the connection accept no more calls; calls under way continue. */
void http2_connection_retire(http2_connection *h);

/* Checks the connection before a new call: returns whether it is alive and accepts calls. Reads
 * what has arrived if no call reads it. After a long silence of the server a PING is sent ahead of
 * the call; its acknowledgement is not waited for. */
bool http2_connection_check_alive(http2_connection *h);

/* State that may be read at any time, without the lock: how many streams the server allows; whether
 * the connection accepts no more calls; whether the server has sent anything yet; whether its
 * SETTINGS accept extended CONNECT. */
uint32_t http2_connection_max_streams(const http2_connection *h);
bool http2_connection_closing(const http2_connection *h);
bool http2_connection_any_received(const http2_connection *h);
bool http2_connection_supports_connect(const http2_connection *h); /* RFC 8441 */

/* Called by the reaper: reads what has arrived when no call leads, and sends a PING when the server
 * has been silent for long although calls wait. If the server does not acknowledge it, the
 * connection gets no new calls. Returns true when the state above has changed. */
bool http2_connection_maintain(http2_connection *h, nanoseconds now);

/* ---- a call's step: the caller holds the lock from http2_call_enter to http2_call_leave ---- */

/* Begins a step and takes the lock. Returns false, without the lock, when the connection belongs to
 * the parent process. */
bool http2_call_enter(http2_call *call);

/* Returns the HTTP/2 session, to be used within a step. */
http2 *http2_connection_session(http2_connection *h);

/* Opens the call's stream; see http2_request. Returns false when out of memory, or when the
 * connection takes no further stream. */
bool http2_call_open(http2_call *call, const char *scheme, const char *head, size_t length,
                     bool body, bool head_request, const http1_limits *limits);

/* Returns whether this step may read; false while another call leads. */
bool http2_call_may_read(const http2_call *call);

/* Reads once and parses the bytes. Returns false when nothing more has arrived. */
bool http2_call_read(http2_call *call, nanoseconds now);

/* Returns how many bytes of the request's body were certainly handed to the connection. */
uint64_t http2_call_body_sent(const http2_call *call);

/* Returns whether all frames of the connection were handed to the system, or writing has failed. */
bool http2_call_written(const http2_call *call);

/* Returns how much of the request was sent, or will be sent in any case: a sent_state of
 * exchange.h, as a number. */
int http2_call_sent(const http2_call *call);

/* Returns why the connection has failed; the code is FAILURE_NONE when it has not. */
const failure *http2_connection_why(const http2_connection *h);

/* Writes the session's output, or leaves that to the batch. */
void http2_call_flush(http2_call *call, nanoseconds now);

/* Ends the step and releases the lock. With `waits` the call waits from now on, as the leader or a
 * follower. Returns true when the connection's state has changed: call pool_reconsider then. */
bool http2_call_leave(http2_call *call, bool waits);

/* Ends the call and the step: the stream is reset unless it is complete, and the lock released. The
 * caller still has its reference. Returns as http2_call_leave. */
bool http2_call_quit(http2_call *call, nanoseconds now);

/* Ends the step, and moves the stream and the reference from `from` to `to` (zeroed), whose driver
 * has the waker `w`. */
void http2_call_move(http2_call *from, http2_call *to, waker *w);

/* ---- an exchange loop's calls ---- */

/* Writes the output that the steps of a round have left. `own`: see http2_call_note_input. */
void http2_batch_flush(http2_batch *b, waker *own);

/* Between these two the exchange loop is not driven, and calls of other drivers lead. */
void http2_batch_depart(http2_batch *b);
void http2_batch_arrive(http2_batch *b);

/* Return a batch with one reference, or NULL without memory; add a reference, and return `b`;
 * release one (NULL is fine), the last of which frees the batch. */
http2_batch *http2_batch_new(void);
http2_batch *http2_batch_keep(http2_batch *b);
void http2_batch_drop(http2_batch *b);

/* To be called when the exchange loop is freed, while some of its calls may continue. Releases the
 * loop's reference. */
void http2_batch_close(http2_batch *b);

/* ---- fork: for all of a pool's connections, under the pool's lock ---- */

/* The lock is held during the fork. In the child the connection is dead, and its session is never
 * used or freed. */
void http2_connection_before_fork(http2_connection *h);
void http2_connection_after_fork(http2_connection *h, bool child);

#endif

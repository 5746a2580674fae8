#ifndef TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_INTERNAL_H
#define TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_INTERNAL_H

#include "http2_connection.h"

#include <pthread.h>

/* For the HTTP/2 connection's own files. All functions are called with its lock held. */

#define HTTP2_READ_SIZE (64 * 1024)

struct http2_connection {
    pthread_mutex_t lock;
    uint32_t references;    /* atomic */
    connection *connection; /* owned */
    http2 *session;         /* owned; NULL in the child after fork */
    uint8_t *input;         /* owned; HTTP2_READ_SIZE bytes */
    buffer output;          /* framed, not written yet */
    uint64_t written;

    http2_call *leader;      /* waits for the descriptor; NULL: no call does */
    http2_batch *remembered; /* borrowed; a batch that has this in ->led; NULL: none is known */
    /* The followers; those that are driven alone stand before the others. */
    list followers;
    list sending; /* calls whose requests are not out yet */

    failure why; /* it is dead */
    bool dead, write_broken;
    bool retired;          /* it is too old */
    bool unread;           /* the last one who read stopped before there was nothing left */
    short wants_write;     /* POLLOUT when the socket is full */
    short wants_read;      /* POLLIN, or what TLS wants */
    nanoseconds heard_at;  /* 0: nothing came yet */
    nanoseconds came_at;   /* when what is being parsed came; -1: nothing is */
    nanoseconds pinged_at; /* and nothing came since; 0: no PING is out */

    bool news; /* the state below has changed since http2_call_leave or _tend returned true */
    uint32_t most;
    bool closing, heard, takes_connect; /* atomic, as `most`: read without the lock */
};

/* ---- http2_connection.c ---- */

bool http2_connection_read_once(http2_connection *h, waker *own, nanoseconds now);
void http2_connection_write(http2_connection *h, waker *own, nanoseconds now);

/* Ends the connection if its session has failed for want of memory: its calls are told. */
void http2_connection_end_exhausted(http2_connection *h, waker *own);

/* ---- http2_call.c ---- */

/* Notes that something has come for the call. If it waits, wakes its driver; or only marks the
 * waker when that is `own`, the waker of the driver that is at work. */
void http2_call_touch(http2_call *call, waker *own);

/* Notes the time for requests whose last byte has been written by now. */
void http2_connection_note_sent(http2_connection *h);

/* If calls wait and none leads, wakes one of them to lead. */
void http2_connection_summon(http2_connection *h, waker *own);

#endif

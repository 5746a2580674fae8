#ifndef TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_INTERNAL_H
#define TRUNKLINE_TRANSPORT_HTTP2_HTTP2_CONNECTION_INTERNAL_H

#include "http2_connection.h"

#include <pthread.h>

/* Declarations that the files of this folder share. The caller of each function holds the
 * connection's lock. */

#define HTTP2_READ_SIZE (64 * 1024)

struct http2_connection {
    pthread_mutex_t lock;
    uint32_t references;    /* atomic */
    connection *connection; /* owned */
    http2 *session;         /* owned; NULL in the child after fork */
    uint8_t *input;         /* owned; HTTP2_READ_SIZE bytes */
    buffer output;          /* frames that are not written yet */
    uint64_t written;

    http2_call *leader;       /* waits for the descriptor; NULL: no call does */
    http2_batch *recorded_by; /* borrowed; a batch that has this in ->led; NULL: none is known */
    /* The followers; calls outside an exchange loop come first. */
    list followers;
    list sending; /* calls whose requests are not written completely */

    failure why; /* why the connection is ->dead */
    bool dead, write_broken;
    bool retired;            /* http2_connection_retire was called */
    bool unread;             /* the last reader stopped before EAGAIN */
    short wants_write;       /* what the blocked write polls for; 0: no write is blocked */
    short wants_read;        /* what a read polls for: POLLIN, or POLLOUT for TLS */
    nanoseconds received_at; /* when bytes arrived last; 0: none have */
    nanoseconds arrived_at;  /* when the bytes being parsed arrived; -1: none are being parsed */
    nanoseconds pinged_at;   /* when a PING was sent, if nothing arrived since; 0: no such PING */

    /* The state below has changed since http2_call_leave or _maintain returned true. */
    bool state_changed;
    uint32_t most;
    bool closing, any_received, supports_connect; /* atomic, as `most`: read without the lock */
};

/* ---- http2_connection.c ---- */

/* Reads once and parses the bytes; notes input for the calls, whose drivers are woken (`own`: see
 * http2_call_note_input). Returns false when nothing has arrived or the connection has failed. */
bool http2_connection_read_once(http2_connection *h, waker *own, nanoseconds now);

/* Writes the session's output until there is none or the socket is full (see ->wants_write). */
void http2_connection_write(http2_connection *h, waker *own, nanoseconds now);

/* Fails the connection and its calls if its session ran out of memory. */
void http2_connection_end_exhausted(http2_connection *h, waker *own);

/* ---- http2_call.c ---- */

/* Records that something has arrived for the call. If the call waits, wakes its driver; or only
 * marks the waker when that is `own`, the waker of the driver that runs now. */
void http2_call_note_input(http2_call *call, waker *own);

/* Records the time for requests whose last byte has been written by now. */
void http2_connection_note_sent(http2_connection *h);

/* If calls wait and none leads, wakes one of them to lead. */
void http2_connection_wake_new_leader(http2_connection *h, waker *own);

#endif

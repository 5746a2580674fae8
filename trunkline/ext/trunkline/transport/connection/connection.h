#ifndef TRUNKLINE_TRANSPORT_CONNECTION_CONNECTION_H
#define TRUNKLINE_TRANSPORT_CONNECTION_CONNECTION_H

#include "protocol/list.h"
#include "transport/events/arrival.h"
#include "transport/events/clock.h"
#include "transport/dial/dial.h"
#include "transport/common/failure.h"
#include "transport/common/io_result.h"
#include "transport/events/event_loop.h"
#include "transport/tls/tls.h"

struct bucket;
struct http2_connection;

/*
 * One connection: a socket, with or without TLS. Over HTTP/1.1 the driver of the call that holds
 * the connection has exclusive use of it; while the connection is idle the pool has. Over HTTP/2
 * calls share it under the lock of its http2_connection. The pool's lock guards the fields from
 * ->streams on.
 */
typedef struct connection {
    int descriptor; /* owned; -1 once closed, or in the child after fork */
    tls *session;   /* owned; NULL: plain */
    uint64_t id;
    uint64_t owner_id;    /* id of the PoolHandle of the client that opened it */
    uint32_t uses;        /* calls sent on it, including the present one */
    bool recv_may_wait;   /* portable_let_recv_wait was called for the socket */
    bool next_read_waits; /* see connection_wait_in_read */
    bool drained;         /* the last read took all that had arrived */
    arrival arrived;      /* arrival time of the bytes read last; set ->wanted before the read */
    nanoseconds opened_at;
    nanoseconds idle_since;
    nanoseconds idle_until;
    nanoseconds last_first_byte; /* atomic; the last response's time to first byte; NEVER: none */
    uint32_t busy_poll_skips;    /* atomic; calls that still skip busy-polling */
    uint32_t busy_poll_backoff;  /* atomic; the last value of backoff_next */
    char address[80];            /* "127.0.0.1:443", "[::1]:80", or the path of a Unix socket */
    /* owns this struct; NULL: the connection uses HTTP/1.1, for one call at a time */
    struct http2_connection *http2;
    uint32_t streams;      /* over HTTP/2: calls that use it now */
    bool inherited;        /* from the parent process */
    bool unwanted;         /* its client was closed: the pool closes it when it comes back */
    struct bucket *bucket; /* NULL: it takes no further calls */
    list_node bucket_node; /* in its bucket's ->idle or ->shared, or among those evicted */
    list_node idle_node;   /* in the pool's ->idle */
    list_node pool_node;   /* in the pool's ->all */
} connection;

/* Makes a connection from a dial's result, and takes ownership of its socket and session. owner_id:
 * of call_options. Returns NULL when out of memory, and closes the socket and session then. */
connection *connection_new(const dialled *d, const route *r, uint64_t owner_id, nanoseconds now);

/* Read or write at most `length` bytes without blocking. Return IO_DONE (*count > 0), IO_READ,
 * IO_WRITE, IO_END (the peer has ended cleanly), IO_TRUNCATED (TLS without close_notify) or
 * IO_FAILED (see *f). A TLS write that returned IO_READ or IO_WRITE must be repeated with the same
 * bytes. */
io_result connection_read(connection *c, void *bytes, size_t length, size_t *count, failure *f);
io_result connection_write(connection *c, const void *bytes, size_t length, size_t *count,
                           failure *f);

/* Makes the next connection_read wait up to about CONNECTION_READ_WAIT when no bytes have arrived.
 * Only bytes, the end of the connection or a signal end that wait early, so a stop request is
 * delayed by as much. Returns false when a read cannot wait. */
#define CONNECTION_READ_WAIT (10 * MILLISECOND)
bool connection_wait_in_read(connection *c);

/* Returns whether TLS holds bytes that it has already read from the socket, which poll does not
 * report. */
bool connection_pending(const connection *c);

/* Checks an idle HTTP/1.1 connection before it is used again: returns true when neither bytes nor
 * the end of the connection have arrived. `l` may be NULL; an event loop that watched the
 * connection and polled it just before `now` may save the system call (event_loop_quiet). */
bool connection_check_alive(connection *c, event_loop *l, nanoseconds now);

/* Returns when the connection stops taking calls: `max_age` (0: no limit) after it was opened, or
 * up to an eighth of that earlier, so that connections that were opened together do not end
 * together. */
nanoseconds connection_due(const connection *c, nanoseconds max_age);

/* Records the time from the request to the first byte of its response. */
void connection_note_response(connection *c, nanoseconds span);

/* Records whether a busy-poll for a response was in vain. After one in vain the next eight calls do
 * not busy-poll; the number doubles with each further one in vain. */
void connection_note_busy_poll(connection *c, bool in_vain);

/* Returns whether a response is likely within `span`, so that busy-polling for it is worthwhile. */
bool connection_is_quick(const connection *c, nanoseconds span);

/* Closes and frees the connection; sends close_notify over TLS when `notify`. A connection that
 * uses HTTP/2 is freed by http2_connection_release only. */
void connection_free(connection *c, bool notify);

#endif

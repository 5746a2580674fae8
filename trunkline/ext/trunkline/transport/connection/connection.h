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
 * One connection: a socket, with TLS over it or not. The driver of the call that has it uses it
 * alone; the pool does while it is idle. With HTTP/2 calls share it under the lock of its
 * http2_connection. The pool's lock guards the fields from ->streams on.
 */
typedef struct connection {
    int descriptor; /* owned; -1 once closed, or in the child after fork */
    tls *session;   /* owned; NULL: plain */
    uint64_t id;
    uint64_t owner;  /* the client family that opened it */
    uint32_t uses;   /* calls that it has carried, the present one included */
    bool reads_wait; /* its socket has portable_let_recv_wait */
    bool next_waits; /* see connection_wait_in_read */
    bool drained;    /* the last read took all that had arrived */
    arrival arrived; /* of what the last read took; to be wanted before it */
    nanoseconds born;
    nanoseconds idle_since;
    nanoseconds idle_until;
    nanoseconds answered_in; /* atomic; the last response's time to first byte; NEVER: none yet */
    uint32_t asleep, asleep_next; /* atomic; calls that do not busy-poll, now and the next time */
    char address[80];             /* "127.0.0.1:443", "[::1]:80", or the path of a Unix socket */
    /* owns this connection when it speaks HTTP/2; NULL: one call at a time */
    struct http2_connection *http2;
    uint32_t streams;      /* calls that have it now, if it is shared */
    bool inherited;        /* from the parent process */
    bool unwanted;         /* its client was closed: it is not kept after this call */
    struct bucket *bucket; /* NULL: it takes no calls any more */
    list_node bucket_node; /* in its bucket's ->idle or ->shared, or among those evicted */
    list_node idle_node;   /* in the pool's ->idle */
    list_node pool_node;   /* in the pool's ->all */
} connection;

/* Makes a connection of a dial's result, whose socket and session it owns from now on. `owner` is
 * the client family's number. Returns NULL without memory; `d` is closed then. */
connection *connection_new(const dialled *d, const route *r, uint64_t owner, nanoseconds now);

/* Read or write at most `length` bytes without blocking. Return IO_DONE (*count > 0), IO_READ,
 * IO_WRITE, IO_END (the peer has ended cleanly), IO_TRUNCATED (TLS without close_notify) or
 * IO_FAILED (see *f). A TLS write that returned IO_READ or IO_WRITE must be repeated with the same
 * bytes. */
io_result connection_read(connection *c, void *bytes, size_t length, size_t *count, failure *f);
io_result connection_write(connection *c, const void *bytes, size_t length, size_t *count,
                           failure *f);

/* The next connection_read waits for bytes, if none have come, up to about CONNECTION_READ_WAIT.
 * Nothing but bytes, the connection's end or a signal ends that wait: a stop that is asked for is
 * late by so much. Returns false where a read cannot wait. */
#define CONNECTION_READ_WAIT (10 * MILLISECOND)
bool connection_wait_in_read(connection *c);

/* Has TLS bytes that were read from the socket already, which poll does not report? */
bool connection_pending(const connection *c);

/* The check before an idle HTTP/1.1 connection is used again: returns true when neither bytes nor
 * the end have come. `l` may be NULL; an event loop that watched the connection, and looked at it
 * just before `now`, may know the answer without a system call. */
bool connection_check_alive(connection *c, event_loop *l, nanoseconds now);

/* When it takes no more calls: `max_age` (0: no limit) after it was opened, or up to an eighth of
 * that earlier, so that connections that were opened together do not end together. */
nanoseconds connection_due(const connection *c, nanoseconds max_age);

/* Notes how long after its request a response came. */
void connection_answered(connection *c, nanoseconds span);

/* Notes that a response was busy-polled for, in vain or not. After a poll in vain the next eight
 * calls do not poll, and twice as many each time that it happens again. */
void connection_waited_awake(connection *c, bool for_nothing);

/* Is a response likely to come within `span`, so that it is worth polling for? */
bool connection_is_quick(const connection *c, nanoseconds span);

/* Closes and frees; sends close_notify over TLS when `notify`. A connection that speaks HTTP/2 is
 * freed by http2_connection_release alone. */
void connection_free(connection *c, bool notify);

#endif

#ifndef TRUNKLINE_TRANSPORT_CONNECTION_CONNECTION_H
#define TRUNKLINE_TRANSPORT_CONNECTION_CONNECTION_H

#include "protocol/list.h"
#include "transport/events/clock.h"
#include "transport/dial/dial.h"
#include "transport/common/failure.h"
#include "transport/common/io_result.h"
#include "transport/events/event_loop.h"
#include "transport/tls/tls.h"

struct bucket;
struct http2_connection;

/*
 * One connection. While a call has it, that call's driver alone touches it; while it is idle, the
 * pool does. One that speaks HTTP/2 is shared: see http2_connection.h. The links are the pool's.
 */
typedef struct connection {
    int descriptor; /* owned; -1 once closed, or in the child after fork */
    tls *session;   /* owned; NULL: plain */
    uint64_t id;
    uint64_t owner; /* the client family that opened it */
    uint32_t uses;  /* calls that it has carried, the present one included */
    bool drained;   /* its last read took all that was there */
    nanoseconds born;
    nanoseconds idle_since;
    nanoseconds idle_until;
    nanoseconds answered_in;      /* atomic; how long its last answer took; NEVER: none came yet */
    uint32_t asleep, asleep_next; /* atomic; calls not to wait awake for, now and the next time */
    char address[80];             /* "127.0.0.1:443", "[::1]:80", or the path of a Unix socket */
    /* HTTP/2, which owns this connection then; NULL: one call at a time */
    struct http2_connection *http2;
    uint32_t streams;      /* calls that have it now, if it is shared */
    bool inherited;        /* from the parent process */
    bool unwanted;         /* its owner was closed: the call that has it is the last one */
    struct bucket *bucket; /* NULL: it takes no calls any more */
    list_node bucket_node; /* in its bucket's ->idle or ->shared, or among those evicted */
    list_node idle_node;   /* in the pool's ->idle */
    list_node pool_node;   /* in the pool's ->all */
} connection;

/* Takes what a dial yielded. NULL: no memory (`d` is closed then). */
connection *connection_new(const dialled *d, const route *r, uint64_t owner, nanoseconds now);

/* As tls_read and tls_write; IO_END is the end of a plain connection too. */
io_result connection_read(connection *c, void *bytes, size_t length, size_t *count, failure *f);
io_result connection_write(connection *c, const void *bytes, size_t length, size_t *count,
                           failure *f);

/* Is more there to be read that poll would not tell of? */
bool connection_pending(const connection *c);

/* The check before reuse of one that is not shared: true when nothing lies there, neither bytes nor
 * the end. `l`, or NULL: an event loop that may know without asking the socket. */
bool connection_check_alive(connection *c, event_loop *l);

/* When it takes no more calls: `max_age` (0: no limit) after its birth, or up to an eighth of that
 * earlier, so that connections that were opened together do not end together. */
nanoseconds connection_due(const connection *c, nanoseconds max_age);

/* An answer came so long after its request. */
void connection_answered(connection *c, nanoseconds span);

/* Its answer was waited for without sleep: for nothing, or not. For nothing costs it the next eight
 * calls, and twice as many each time that it happens again. */
void connection_waited_awake(connection *c, bool for_nothing);

/* Is it worth it to wait awake for an answer within `span`? */
bool connection_is_quick(const connection *c, nanoseconds span);

/* Closes and frees; says goodbye (TLS close_notify) when `notify`. One that speaks HTTP/2 is its
 * http2_connection's to free. */
void connection_free(connection *c, bool notify);

#endif

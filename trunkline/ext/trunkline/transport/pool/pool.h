#ifndef TRUNKLINE_TRANSPORT_POOL_POOL_H
#define TRUNKLINE_TRANSPORT_POOL_POOL_H

#include "transport/connection/connection.h"
#include "transport/common/options.h"
#include "transport/events/waker.h"

/*
 * The connections to all servers, in a bucket for each route's key. A call gets a connection, or
 * the right to open one, or waits in the bucket's queue; it gives the connection or the right back.
 * A connection that uses HTTP/2 (->http2) is shared by as many calls as its server allows. The pool
 * does not check sockets: the caller checks the connection that it gets, and has it replaced when
 * it is dead. All functions may be called by any thread; none blocks for long.
 */
typedef struct pool pool;

/* The pool's record of a call: embedded in the call, zeroed before its first use, and not moved
 * while it holds a right to open a connection or waits. */
typedef struct pool_ticket {
    struct bucket *bucket; /* the bucket in which it holds a right or waits; NULL: none */
    connection *granted;   /* the connection that it got while it waited */
    bool waiting;
    bool turn_due;    /* atomic; see pool_turn_due */
    bool may_share;   /* the route may use HTTP/2 */
    bool dialling;    /* other tickets wait for its dial, whose connection they may share */
    bool dial_failed; /* set by the call: the connection could not be opened */
    nanoseconds min_opened_at; /* set by the call: older connections are not accepted; 0: all are */
    uint32_t limit;
    nanoseconds idle_timeout;
    nanoseconds since; /* when the wait began */
    uint32_t generation;
    waker *waker;         /* borrowed; woken when pool_turn_due becomes true */
    list_node queue_node; /* in its bucket's ->queue */
    list_node dial_node;  /* in the pool's ->diallers */
} pool_ticket;

/* The longest time that a call waits for another call's dial, to share that connection; then it
 * dials itself. */
#define POOL_SHARING_WAIT (250 * MILLISECOND)

#define POOL_KNOWN_SERVERS 256 /* buckets kept without a connection, for what they know */

typedef enum {
    POOL_CONNECTION, /* the call uses *out, alone or shared: check it with pool_connection_usable */
    POOL_DIAL,       /* the call may open a connection: then pool_add or pool_cancel */
    POOL_WAIT,       /* the ticket is queued: call pool_turn when its waker was woken */
    POOL_NO_MEMORY,
    POOL_CLOSED /* the pool was closed, or belongs to the parent process */
} pool_result;

/* Returns a pool with one reference, which keeps at most `max_idle` connections; NULL when out of
 * memory. */
pool *pool_new(uint32_t max_idle);
pool *pool_keep(pool *p);   /* adds a reference; returns `p` */
void pool_release(pool *p); /* the last reference closes idle connections and frees the pool */

/* Asks for a connection with the key of `r`.
 *
 * Returns POOL_CONNECTION (the one that was used last), POOL_DIAL while fewer than
 * options->max_connections are in use, or POOL_WAIT; else POOL_NO_MEMORY or POOL_CLOSED. Where
 * connections may be shared, one is opened at a time. `t` must be in no queue. */
pool_result pool_acquire(pool *p, const route *r, const call_options *options, pool_ticket *t,
                         connection **out);

/* Returns the result for a queued ticket, as pool_acquire; POOL_WAIT: there is none yet. */
pool_result pool_turn(pool *p, pool_ticket *t, connection **out);

/* Returns whether pool_turn should be called for a queued ticket. Tickets may share a waker, which
 * does not record for which of them it was woken. Needs no lock. */
bool pool_turn_due(const pool *p, const pool_ticket *t);

/* Returns the limit that makes the ticket wait, as text for an error message; static. */
const char *pool_why_waiting(pool *p, const pool_ticket *t);

/* To be called after waker_depart of a driver: no ticket waits for the dials of its calls any
 * more. */
void pool_driver_left(pool *p);

/* Returns whether there is a shared connection with the key of `r` whose server accepts extended
 * CONNECT. */
bool pool_supports_connect(pool *p, const route *r);

/* Closes `c`, which is not shared and not usable, and gives the call another idle connection
 * instead, or the right to open one when there is none or `fresh` is set. Returns POOL_CONNECTION,
 * POOL_DIAL or POOL_CLOSED. */
pool_result pool_replace(pool *p, pool_ticket *t, connection *c, bool fresh, connection **out);

/* Removes the ticket from the queue, or gives up its right to open a connection; a connection that
 * was granted meanwhile goes to the next ticket. Does nothing for a ticket that holds nothing. */
void pool_cancel(pool *p, pool_ticket *t);

/* Adds a new connection, in use by the call that had the right to open it. */
void pool_add(pool *p, pool_ticket *t, connection *c);

/* Checks a connection from the pool before it is used: returns whether it is alive, and younger
 * than `max_age` (0: any age). `l` may be NULL; an event loop may save the system call. When it
 * returns false the caller calls pool_replace, or for a shared connection pool_reconsider and
 * pool_leave. */
bool pool_connection_usable(connection *c, nanoseconds max_age, event_loop *l, nanoseconds now);

/* Closes and frees a connection that is in no pool. With `notify` it sends close_notify over TLS,
 * and GOAWAY over HTTP/2. Other calls on a shared connection continue. */
void pool_connection_close(connection *c, bool notify);

/* Returns a connection to the pool, for other calls to use until `idle_until`. */
void pool_checkin(pool *p, connection *c, nanoseconds now, nanoseconds idle_until);

/* Ends a call's use of a shared connection; after the last call it is idle until `idle_until`. */
void pool_leave(pool *p, connection *c, nanoseconds now, nanoseconds idle_until);

/* To be called when a shared connection accepts more calls than before, or no further ones. */
void pool_reconsider(pool *p, connection *c);

/* Closes a connection that was in use; a waiting call may open another. */
void pool_discard(pool *p, connection *c, bool notify);

/* Closes the connections that clients of the PoolHandle with the id `owner_id` opened (0: all):
 * idle ones now, those in use when they are returned. Returns how many were idle. */
uint32_t pool_close_idle(pool *p, uint64_t owner_id);

/* Frees descriptors: closes some idle connections of every pool, the longest idle first; when there
 * is none, the unused wakers. Returns false when nothing was closed. */
bool pool_make_room(void);

/* Makes the pool refuse further calls: idle connections are closed now, those in use when they are
 * returned. */
void pool_close(pool *p);

typedef struct {
    uint64_t connections, idle, in_use, waiting, opened, reused, closed;
} pool_stats;

/* Fills in *out; all of its counts are of one moment. */
void pool_count(pool *p, pool_stats *out);

/* To be called around fork (see fork.c). All locks are held during the fork, so that the child
 * finds consistent data; the child starts with empty pools and sends nothing on the parent's
 * connections. */
void pool_before_fork(void);
void pool_after_fork(bool child);

#endif

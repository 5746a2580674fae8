#ifndef TRUNKLINE_TRANSPORT_POOL_POOL_H
#define TRUNKLINE_TRANSPORT_POOL_POOL_H

#include "transport/connection/connection.h"
#include "transport/common/options.h"
#include "transport/events/waker.h"

/*
 * The connections to all servers, in a bucket for each route's key. A call gets a connection, or
 * the right to open one, or waits in the bucket's queue; it gives the connection or the right back.
 * A connection that speaks HTTP/2 (->http2) is shared by as many calls as its server allows. The
 * pool does not look at sockets: the caller checks the connection that it was given, and has it
 * replaced when it is dead. All functions may be called by any thread; none blocks for long.
 */
typedef struct pool pool;

/* What the pool knows of a call: embedded in the call, zeroed before its first use, and not moved
 * while it holds a right or waits. */
typedef struct pool_ticket {
    struct bucket *bucket; /* where it holds a right, or waits; NULL: nowhere */
    connection *granted;   /* given to it while it waited */
    bool waiting;
    bool called;              /* atomic; see pool_called */
    bool may_share;           /* HTTP/2 may be spoken there */
    bool dialling;            /* others wait to see whether its new connection can be shared */
    bool in_vain;             /* set by the call: the connection could not be opened */
    nanoseconds opened_after; /* set by the call: it takes no older connection; 0: any */
    uint32_t limit;
    nanoseconds idle_timeout;
    nanoseconds since; /* when it began to wait */
    uint32_t generation;
    waker *waker;         /* borrowed; woken when pool_called becomes true */
    list_node queue_node; /* in its bucket's ->queue */
    list_node dial_node;  /* in the pool's ->diallers */
} pool_ticket;

/* How long a call waits at most for another call's dial to show whether the connection can be
 * shared; then it dials for itself. */
#define POOL_PATIENCE (250 * MILLISECOND)

#define POOL_KNOWN_SERVERS 256 /* buckets kept, without a connection, for what they know */

typedef enum {
    POOL_CONNECTION, /* the call has *out, alone or shared: check it with pool_connection_usable */
    POOL_DIAL,       /* the call may open a connection: then pool_add or pool_cancel */
    POOL_WAIT,       /* the ticket is queued: call pool_turn when its waker was woken */
    POOL_NO_MEMORY,
    POOL_CLOSED /* the pool was closed, or belongs to the parent process */
} pool_result;

/* Returns a pool with one reference, which keeps at most `max_idle` connections; NULL without
 * memory. */
pool *pool_new(uint32_t max_idle);
pool *pool_keep(pool *p);   /* adds a reference; returns `p` */
void pool_release(pool *p); /* the last one closes idle connections and frees the pool */

/* Asks for a connection with the key of `r`.
 *
 * Returns POOL_CONNECTION (the one that was used last), POOL_DIAL while fewer than
 * options->max_connections are in use, or POOL_WAIT; else POOL_NO_MEMORY or POOL_CLOSED. Where
 * connections may be shared, one is opened at a time. `t` must be in no queue. */
pool_result pool_acquire(pool *p, const route *r, const call_options *options, pool_ticket *t,
                         connection **out);

/* Returns what a queued ticket has got meanwhile, as pool_acquire; POOL_WAIT: nothing yet. */
pool_result pool_turn(pool *p, pool_ticket *t, connection **out);

/* Should pool_turn be called for a queued ticket? Tickets may share a waker, which does not say
 * for which of them it was woken. Needs no lock. */
bool pool_called(const pool *p, const pool_ticket *t);

/* Which limit makes the ticket wait, for a person to read. Static. */
const char *pool_why_waiting(pool *p, const pool_ticket *t);

/* To be called after waker_depart of a driver: nobody waits for what its calls dial. */
void pool_driver_left(pool *p);

/* Is there a shared connection with the key of `r` whose server takes extended CONNECT? */
bool pool_takes_connect(pool *p, const route *r);

/* Closes `c`, which is not shared and of no use, and gives the call another idle connection in its
 * stead; the right to open one when there is none, or with `fresh`. Returns POOL_CONNECTION,
 * POOL_DIAL or POOL_CLOSED. */
pool_result pool_replace(pool *p, pool_ticket *t, connection *c, bool fresh, connection **out);

/* Leaves the queue, or gives up the right to dial; what was granted meanwhile goes to the next
 * ticket. Nothing happens for a ticket that holds nothing. */
void pool_cancel(pool *p, pool_ticket *t);

/* Adds a new connection, in use by the call that had the right to open it. */
void pool_add(pool *p, pool_ticket *t, connection *c);

/* The check before a connection from the pool is used: is it alive, and younger than `max_age` (0:
 * any age)? `l` may be NULL; an event loop may know without a system call. When it returns false
 * the caller calls pool_replace, or for a shared connection pool_reconsider and pool_leave. */
bool pool_connection_usable(connection *c, nanoseconds max_age, event_loop *l, nanoseconds now);

/* Closes and frees a connection that is in no pool. With `notify` TLS sends close_notify, HTTP/2
 * GOAWAY. The calls of others on a shared connection go on. */
void pool_connection_close(connection *c, bool notify);

/* Gives a connection back, for others to use until `idle_until`. */
void pool_checkin(pool *p, connection *c, nanoseconds now, nanoseconds idle_until);

/* Ends a call's use of a shared connection; the last one leaves it idle until `idle_until`. */
void pool_leave(pool *p, connection *c, nanoseconds now, nanoseconds idle_until);

/* To be called when a shared connection takes more calls than before, or none any more. */
void pool_reconsider(pool *p, connection *c);

/* Closes a connection that was in use; a waiting call may open another. */
void pool_discard(pool *p, connection *c, bool notify);

/* Closes the connections that the client family `owner` opened (0: all): idle ones now, those in
 * use when they come back. Returns how many were idle. */
uint32_t pool_close_idle(pool *p, uint64_t owner);

/* Frees descriptors: closes some idle connections of every pool, those that were idle longest; when
 * there is none, the wakers that nobody uses. Returns false when nothing was closed. */
bool pool_make_room(void);

/* Takes no more calls: idle connections are closed now, those in use when they come back. */
void pool_close(pool *p);

typedef struct {
    uint64_t connections, idle, in_use, waiting, opened, reused, closed;
} pool_stats;

void pool_count(pool *p, pool_stats *out);

/* Around fork (see fork.c). All locks are held during the fork, so that the child finds consistent
 * data; the child starts with empty pools and sends nothing on the parent's connections. */
void pool_before_fork(void);
void pool_after_fork(bool child);

#endif

#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_H

#include "transport/events/clock.h"
#include "transport/common/failure.h"
#include "transport/common/io_result.h"
#include "transport/events/waker.h"

#include <stdbool.h>

#include <stdint.h>
#include <sys/socket.h>

/*
 * Resolves names with getaddrinfo in a bounded set of native threads, with a cache
 * (resolve_cache_internal.h) and a queue (resolve_queue_internal.h). Callers that ask for the same
 * name share one look-up. A queued name that no caller waits for any more is not looked up; the
 * result of a running look-up is cached even then. All functions may be called by any thread.
 */
typedef struct {
    struct sockaddr_storage address;
    socklen_t length;
} endpoint;

#define LOOKUP_LIMIT 1000        /* names whose results are cached */
#define RESOLVE_MAX_ADDRESSES 64 /* per name; further addresses are dropped */
#define RESOLVE_MAX_THREADS 320
#define RESOLVE_MAX_UNKNOWN 304 /* look-ups of names that were not resolved before */
#define RESOLVE_MAX_DOMAIN 288  /* look-ups of one domain */
#define RESOLVE_MAX_QUEUED 4096 /* names that wait for their look-up */

/* One caller's request for a name, and later its result. */
typedef struct resolution resolution;

/* Requests the addresses of `host`, a name or an IP literal.
 *
 * max_age: the maximum age of a cached result; 0: any. w: woken when the result is ready; one
 * reference is kept until then.
 * Returns IO_DONE (a literal, or a cached result), IO_WAIT, or IO_FAILED with *f. Unless it failed
 * the caller owns *out, and frees it with resolve_release. */
io_result resolve_start(const char *host, uint16_t port, nanoseconds max_age, waker *w,
                        resolution **out, failure *f);

/* Returns IO_DONE with *list (owned by the resolution, in the order of RFC 6724) and *count,
 * IO_WAIT while the look-up is not over, or IO_FAILED with *f. */
io_result resolve_result(resolution *r, const endpoint **list, size_t *count, failure *f);

void resolve_release(resolution *r); /* at any time; NULL is fine */

/* Drops the name from the cache, after all of its addresses have failed. */
void resolve_forget(const char *host);

void resolve_clear(void); /* empties the cache */

/* For tests: replaces getaddrinfo and freeaddrinfo; NULL, NULL restores them. */
typedef int (*resolve_lookup)(const char *host, const char *service, const void *hints,
                              void **result);
void resolve_set_lookup(resolve_lookup lookup, void (*release)(void *));

/* To be called around fork. resolve_before_fork waits until look-ups that have just begun are over,
 * or have run for RESOLVE_FORK_TIMEOUT, and takes the lock. In the child look-ups under way
 * fail. */
#define RESOLVE_FORK_TIMEOUT (50 * MILLISECOND) /* after the newest look-up's start */
void resolve_before_fork(void);
void resolve_after_fork(bool child);

#endif

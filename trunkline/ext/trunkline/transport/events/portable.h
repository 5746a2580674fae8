#ifndef TRUNKLINE_TRANSPORT_EVENTS_PORTABLE_H
#define TRUNKLINE_TRANSPORT_EVENTS_PORTABLE_H

#include "clock.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

/*
 * What only some systems have, and what the others do instead. extconf.rb looks for each function
 * and defines HAVE_<FUNCTION>; with -DTRUNKLINE_POLL nothing is looked for, so that the other way
 * can be tested where all of it is there.
 */

#if defined(HAVE_EPOLL_CREATE1) && !defined(TRUNKLINE_POLL)
#define USE_EPOLL 1
#endif

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* there the socket has SO_NOSIGPIPE */
#endif

/* As poll(2), for `span` nanoseconds (NEVER: without end): exactly by ppoll, otherwise rounded up
 * to milliseconds. */
int portable_poll(struct pollfd *entries, nfds_t count, nanoseconds span);

/* Initialises a condition for portable_wait. */
void portable_condition(pthread_cond_t *condition);

/* As pthread_cond_timedwait, until a point of the monotonic clock. False: that was reached. Like
 * every wait for a condition it may end early. */
bool portable_wait(pthread_cond_t *condition, pthread_mutex_t *lock, nanoseconds until);

/* A pair of descriptors, what is written to ends[1] being read from ends[0], that neither block nor
 * outlive an exec. False: errno says why, and none is open. */
bool portable_pipe(int ends[2]);

/* A socket of `family` that neither blocks nor outlives an exec; -1: errno says why. */
int portable_socket(int family);

#endif

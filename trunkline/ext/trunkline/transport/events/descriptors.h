#ifndef TRUNKLINE_TRANSPORT_EVENTS_DESCRIPTORS_H
#define TRUNKLINE_TRANSPORT_EVENTS_DESCRIPTORS_H

#include <stdbool.h>

/*
 * The set of all descriptors that the engine has open: sockets, wakers, epoll instances. A forked
 * child closes its copies, so that a server sees the end of a connection that the parent closes,
 * and the child takes no event meant for the parent. The kernel uses the numbers again while
 * structs inherited from the parent still hold them, so code that keeps a descriptor across a
 * possible fork compares generations before it uses or closes it.
 */

/* The lock to hold while a descriptor is opened and noted, so that no fork happens in between. */
void descriptors_lock(void);
void descriptors_unlock(void);

/* Adds a descriptor, which the caller still owns, and returns it. Returns -1 with errno for -1, and
 * when out of memory, after closing the descriptor. The caller holds the lock. */
int descriptors_note(int descriptor);

/* Removes and closes a descriptor; -1 is fine. Takes the lock. */
void descriptors_close(int descriptor);

/* Returns whether `error` is EMFILE or ENFILE: no more descriptors may be opened. */
bool descriptors_scarce(int error);

/* Tries to open a descriptor, for library functions that fail without an errno. Returns true, with
 * errno, when no more can be opened. */
bool descriptors_exhausted(void);

/* Returns the number of forks that led to this process. A descriptor that was opened under another
 * number belongs to a parent process. */
unsigned descriptors_generation(void);

/* To be called around fork. The lock is held during the fork; the child closes all descriptors of
 * the set and has the next generation. */
void descriptors_before_fork(void);
void descriptors_after_fork(bool child);

#endif

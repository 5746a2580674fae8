#ifndef TRUNKLINE_TRANSPORT_EVENTS_DESCRIPTORS_H
#define TRUNKLINE_TRANSPORT_EVENTS_DESCRIPTORS_H

#include <stdbool.h>

/*
 * The set of all descriptors that the engine has open: sockets, wakers, epoll instances. A forked
 * child closes its copies, so that a server sees the end of a connection that the parent closes,
 * and the child takes no event meant for the parent. The kernel gives the numbers out again, while
 * structs inherited from the parent still hold them: whoever holds a descriptor across a possible
 * fork compares generations before it uses or closes it.
 */

/* Held while a descriptor is opened and noted, so that no fork happens in between. */
void descriptors_lock(void);
void descriptors_unlock(void);

/* Adds a descriptor, which stays the caller's, and returns it. Returns -1 with errno for -1, and
 * without memory, when it closes the descriptor. The caller holds the lock. */
int descriptors_note(int descriptor);

/* Removes and closes a descriptor; -1 is fine. Takes the lock. */
void descriptors_close(int descriptor);

/* Is `error` EMFILE or ENFILE: no more descriptors may be opened? */
bool descriptors_scarce(int error);

/* Tries to open a descriptor, for functions of libraries that fail without an errno. Returns true,
 * with errno, when no more can be opened. */
bool descriptors_exhausted(void);

/* The number of forks that led to this process. What was opened under another number is a parent
 * process's. */
unsigned descriptors_generation(void);

void descriptors_before_fork(void);
void descriptors_after_fork(bool child);

#endif

#ifndef TRUNKLINE_TRANSPORT_EVENTS_DESCRIPTORS_H
#define TRUNKLINE_TRANSPORT_EVENTS_DESCRIPTORS_H

#include <stdbool.h>

/*
 * The sockets of this process's connections, dialled ones included, and the descriptors of what
 * waits for them. A forked child closes its copies of all of them, whichever thread had them in the
 * parent: else a server would not see the end of a connection that the parent has closed, and a
 * wake-up or an event of the parent's could be taken by the child. Their numbers, which structs of
 * the parent's still hold, are used again: whoever has one compares generations before it uses or
 * closes it.
 */

/* Between these two a descriptor is opened and noted, so that no fork comes between. */
void descriptors_lock(void);
void descriptors_unlock(void);

/* Notes a descriptor (-1: none), which is the caller's and close-on-exec; returns it. -1, with
 * errno: there was none, or no memory to note it, and it is closed. */
int descriptors_note(int descriptor);

/* Forgets and closes it; -1 is fine. */
void descriptors_close(int descriptor);

/* Is `error` the system's word that the process, or the system, may open no more of them? */
bool descriptors_scarce(int error);

/* Can no more be opened just now? For what fails without saying why. True: errno says. */
bool descriptors_exhausted(void);

/* How many forks led to this process: what was opened under another number is a parent's. */
unsigned descriptors_generation(void);

void descriptors_before_fork(void);
void descriptors_after_fork(bool child);

#endif

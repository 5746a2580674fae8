#ifndef TRUNKLINE_TRANSPORT_POOL_CAPACITY_H
#define TRUNKLINE_TRANSPORT_POOL_CAPACITY_H

#include "protocol/list.h"
#include "transport/events/waker.h"

#include <stdint.h>

/*
 * How many connections the calls of the whole process may have at a time, over all pools. Idle
 * connections are not among them. A place is taken and given back without a lock while there are
 * some; without, claims wait in line, first come, first served. Its lock is the innermost: no other
 * is taken with it.
 */

typedef enum { CLAIM_NONE, CLAIM_WAITING, CLAIM_GRANTED } claim_state;

/* Embedded in whoever waits, zeroed before its first use, and not moved while it waits. One thread
 * at a time takes or cancels by the same claim (the pool's lock sees to it). */
typedef struct {
    claim_state state; /* atomic */
    waker *waker;      /* borrowed; woken when a place has been granted */
    list_node node;    /* in the line */
} capacity_claim;

/* Takes a place. False: there is none; the claim waits in line, and `w`, in the place of the waker
 * before, is woken once it has been granted one: it is taken by calling this again. One whose
 * driver is away is passed over, and woken to ask again. */
bool capacity_take(capacity_claim *c, waker *w);

/* Has a place been granted that was not taken yet? */
bool capacity_granted(const capacity_claim *c);

/* `w` is to be woken instead: at once, if a place has been granted already. */
void capacity_hand_over(capacity_claim *c, waker *w);

/* Leaves the line; what was granted goes to the next. Nothing happens when it does neither. */
void capacity_cancel(capacity_claim *c);

/* Gives a place back: the first in line has it. */
void capacity_give(void);

/* How many there may be; until it is set, and by 0 again, half of the descriptors that the process
 * may open: a call may need another one besides its connection. */
void capacity_set(uint32_t most);
uint32_t capacity_most(void);
uint32_t capacity_used(void);

/* After fork, in the child: nothing is in use. */
void capacity_forked(void);

#endif

#ifndef TRUNKLINE_TRANSPORT_POOL_CAPACITY_H
#define TRUNKLINE_TRANSPORT_POOL_CAPACITY_H

#include "protocol/list.h"
#include "transport/events/waker.h"

#include <stdint.h>

/*
 * Limits how many connections the calls of the whole process use at a time, over all pools; idle
 * connections do not count. A slot is taken and released without a lock while slots are free;
 * otherwise claims wait in a queue, first come, first served. While the lock of capacity.c is held,
 * no locks but those of wakers are taken.
 */

typedef enum { CLAIM_NONE, CLAIM_WAITING, CLAIM_GRANTED } claim_state;

/* Embedded in the bucket whose calls wait; zeroed before its first use, and not moved while it
 * waits. The caller holds the pool's lock in each function that takes a claim. */
typedef struct {
    claim_state state; /* atomic */
    waker *waker;      /* borrowed; woken when a slot has been granted */
    list_node node;    /* in the queue */
} capacity_claim;

/* Takes a slot and returns true; or queues the claim, with `w` as its waker, and returns false. `w`
 * is woken when a slot is granted, which the next capacity_take takes. A claim whose driver is away
 * is passed over, and its waker woken, so that the driver calls capacity_take again. */
bool capacity_take(capacity_claim *c, waker *w);

/* Returns whether a slot was granted that is not taken yet. */
bool capacity_granted(const capacity_claim *c);

/* Replaces the waker; wakes `w` at once when a slot has been granted already. */
void capacity_hand_over(capacity_claim *c, waker *w);

/* Removes the claim from the queue, or passes a granted slot on to the next claim. Does nothing for
 * a claim that does not wait. */
void capacity_cancel(capacity_claim *c);

/* Releases a slot; the first claim in the queue gets it. */
void capacity_release(void);

/* Set and return the number of slots. By default, and after capacity_set(0), it is half of the
 * descriptors that the process may open, because a call may need one besides its connection.
 * capacity_used returns how many are in use. */
void capacity_set(uint32_t most);
uint32_t capacity_limit(void);
uint32_t capacity_used(void);

/* To be called in the child after fork: no slot is in use then. */
void capacity_forked(void);

#endif

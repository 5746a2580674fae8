#ifndef TRUNKLINE_PROTOCOL_BUDGET_H
#define TRUNKLINE_PROTOCOL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many bytes of answers the HTTP/2 streams of the whole process may hold that nobody has taken
 * yet. A stream reserves its window, for the server may fill that whenever it likes, and gives it
 * back when it is freed. Safe to be used by any thread.
 */

/* False: that many are not to be had, or `margin` would not be left. */
bool budget_reserve(uint64_t bytes, uint64_t margin);
void budget_release(uint64_t bytes);

/* 256 MiB until it is set, and by 0 again. A lower one takes nothing from those who have reserved.
 */
void budget_set(uint64_t most);
uint64_t budget_most(void);
uint64_t budget_used(void);

/* After fork, in the child: nothing is reserved. */
void budget_forked(void);

#endif

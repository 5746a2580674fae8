#ifndef TRUNKLINE_PROTOCOL_BUDGET_H
#define TRUNKLINE_PROTOCOL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Limits how many bytes of responses the HTTP/2 streams of the whole process may hold before
 * callers take them. A stream reserves its window, which the server may fill at any time, and
 * releases it when it is freed. All functions may be called by any thread.
 */

/* Reserves `bytes`. Returns false when less than `bytes` and `margin` are left. */
bool budget_reserve(uint64_t bytes, uint64_t margin);
void budget_release(uint64_t bytes);

/* The limit; 0 restores the default of 256 MiB. What is reserved already stays so. */
void budget_set(uint64_t most);
uint64_t budget_most(void);
uint64_t budget_used(void);

/* After fork, in the child: nothing is reserved. */
void budget_forked(void);

#endif

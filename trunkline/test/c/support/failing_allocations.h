#ifndef TRUNKLINE_TEST_FAILING_ALLOCATIONS_H
#define TRUNKLINE_TEST_FAILING_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The program is linked so that its own allocations (not those of the libraries) call these
 * functions, in which the counted allocation fails. Only one file of a program includes this
 * header.
 */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);

static long until_failure; /* counts down, in all threads; at 0 and below no allocation fails */
static bool failed;

static bool fails_now(void) {
    if (__atomic_sub_fetch(&until_failure, 1, __ATOMIC_ACQ_REL) != 0) return false;
    __atomic_store_n(&failed, true, __ATOMIC_RELEASE);
    return true;
}

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size) {
    return fails_now() ? NULL : __real_realloc(memory, size);
}

#endif

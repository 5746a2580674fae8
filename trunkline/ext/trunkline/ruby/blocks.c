#include "engine.h"

#include <stdlib.h>

/* Free lists of the memory blocks of requests, and of responses with their heads. They avoid
 * free(3), which reads the memory around each block that the GC frees, long after it has left the
 * CPU cache. Blocks in use are reported to the GC, which otherwise counts objects only, and would
 * let blocks accumulate while its heap has free slots. The GVL protects the lists. */

#define KEPT 2048
#define CACHE_LINE 64

typedef struct {
    size_t bytes; /* of each block */
    int count;
    void *kept[KEPT]; /* owned */
} free_list;

static free_list lists[] = {
    [BLOCK_REQUEST] = {.bytes = REQUEST_BYTES}, [BLOCK_RESPONSE] = {.bytes = RESPONSE_BYTES}};

/* Also prefetches the next block, which was last used many requests ago. (In a function of its own
 * the compiler would remove the prefetch.) */
void *block_take(block_kind kind) {
    free_list *l = &lists[kind];
    if (l->count == 0) {
        rb_gc_adjust_memory_usage((ssize_t)l->bytes);
        return malloc(l->bytes);
    }
    void *block = l->kept[--l->count];
    const char *next = l->count > 0 ? l->kept[l->count - 1] : block;
    for (size_t at = 0; at < l->bytes; at += CACHE_LINE) __builtin_prefetch(next + at, 1);
    return block;
}

void block_give(block_kind kind, void *block) {
    free_list *l = &lists[kind];
    if (l->count < KEPT) {
        l->kept[l->count++] = block;
    } else {
        rb_gc_adjust_memory_usage(-(ssize_t)l->bytes);
        free(block);
    }
}

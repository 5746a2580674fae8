#include "engine.h"

#include <stdlib.h>

/* A free list of memory blocks of one size, for requests and responses with their heads: free(3)
 * reads the neighbours of each block that the collector frees, long after they have left the cache.
 * The collector is told of each block in use: counting objects alone, it would let blocks gather
 * for as long as its heap has free slots. The GVL protects the list. */

#define KEPT 512

static void *kept[KEPT]; /* owned */
static int kept_count;

void *block_take(void) {
    rb_gc_adjust_memory_usage(BLOCK_BYTES);
    return kept_count > 0 ? kept[--kept_count] : malloc(BLOCK_BYTES);
}

void block_give(void *block) {
    rb_gc_adjust_memory_usage(-BLOCK_BYTES);
    if (kept_count < KEPT)
        kept[kept_count++] = block;
    else
        free(block);
}

#include "engine.h"

#include <stdlib.h>

/* Memory of one size, which requests and responses lie in with their heads behind them, kept for
 * the next: malloc would inspect the neighbours of each that the collector frees, long after it was
 * used. The GVL protects the list. */

#define KEPT 512

static void *kept[KEPT]; /* owned */
static int kept_count;

void *block_take(void) {
    return kept_count > 0 ? kept[--kept_count] : malloc(BLOCK_BYTES);
}

void block_give(void *block) {
    if (kept_count < KEPT)
        kept[kept_count++] = block;
    else
        free(block);
}

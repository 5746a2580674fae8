#ifdef HAVE_NGHTTP2

#include "http2_internal.h"

#include <stddef.h>

/*
 * Keeps nghttp2's allocations in a list, and frees a session by freeing all of them, because
 * nghttp2_session_del may free an item twice after a failed allocation (1.52, an item that could
 * not be queued).
 */

typedef struct {
    list_node node;
    long double bytes[]; /* aligned for every type */
} http2_block;

static http2_block *block_of(void *bytes) {
    return (http2_block *)((char *)bytes - offsetof(http2_block, bytes));
}

static void *link_block(http2_memory *memory, http2_block *block) {
    if (block == NULL) {
        memory->exhausted = true;
        return NULL;
    }
    list_append(&memory->blocks, &block->node);
    return block->bytes;
}

static void unlink_block(http2_memory *memory, http2_block *block) {
    list_remove(&memory->blocks, &block->node);
}

static bool fits(size_t count, size_t size) {
    return size == 0 || count <= (SIZE_MAX - sizeof(http2_block)) / size;
}

static void *allocate(size_t size, void *memory) {
    return link_block(memory, fits(size, 1) ? malloc(sizeof(http2_block) + size) : NULL);
}

static void *allocate_zeroed(size_t count, size_t size, void *memory) {
    bool possible = fits(count, size);
    return link_block(memory, possible ? calloc(1, sizeof(http2_block) + count * size) : NULL);
}

static void release(void *bytes, void *memory) {
    if (bytes == NULL) return;
    unlink_block(memory, block_of(bytes));
    free(block_of(bytes));
}

/* Like realloc: without memory it returns NULL, and the old block stays valid. */
static void *resize(void *bytes, size_t size, void *of) {
    http2_memory *memory = of;
    if (bytes == NULL) return allocate(size, memory);
    http2_block *old = block_of(bytes);
    unlink_block(memory, old);
    http2_block *moved = fits(size, 1) ? realloc(old, sizeof(http2_block) + size) : NULL;
    if (moved == NULL) memory->exhausted = true;
    void *linked = link_block(memory, moved != NULL ? moved : old);
    return moved != NULL ? linked : NULL;
}

nghttp2_mem http2_memory_of(http2_memory *memory) {
    return (nghttp2_mem){memory, allocate, release, allocate_zeroed, resize};
}

void http2_memory_free(http2_memory *memory) {
    LIST_EACH (http2_block, block, &memory->blocks, node) free(block);
}

#endif

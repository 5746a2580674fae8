#include "origin_table.h"

#include "protocol/hash.h"

#include <string.h>

#define PREFIX_MOST 512 /* bytes; a host name has 253 at most */

static origin_slot *slot_of(const origin_table *t, const char *prefix, size_t length,
                            uint32_t hash) {
    uint32_t mask = t->capacity - 1;
    for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
        origin_slot *slot = &t->slots[at];
        if (slot->prefix == NULL || (slot->hash == hash && slot->length == length &&
                                     memcmp(slot->prefix, prefix, length) == 0))
            return slot;
    }
}

VALUE origin_table_find(const origin_table *t, const char *prefix, size_t length) {
    if (t->capacity == 0) return Qnil;
    const origin_slot *slot = slot_of(t, prefix, length, hash_bytes(prefix, length));
    return slot->prefix != NULL ? slot->origin : Qnil;
}

static void forget(origin_table *t) {
    for (uint32_t i = 0; i < t->capacity; i++) {
        free(t->slots[i].prefix);
        t->slots[i].prefix = NULL;
    }
    t->count = 0;
}

static bool grow(origin_table *t) {
    origin_table wider = {.capacity = t->capacity > 0 ? t->capacity * 2 : 8, .count = t->count};
    wider.slots = calloc(wider.capacity, sizeof(*wider.slots));
    if (wider.slots == NULL) return false;
    for (uint32_t i = 0; i < t->capacity; i++) {
        const origin_slot *slot = &t->slots[i];
        if (slot->prefix != NULL) *slot_of(&wider, slot->prefix, slot->length, slot->hash) = *slot;
    }
    free(t->slots);
    *t = wider;
    return true;
}

void origin_table_add(origin_table *t, const char *prefix, size_t length, VALUE origin) {
    if (length > PREFIX_MOST) return;
    if (t->count == ORIGIN_TABLE_MOST) forget(t);
    if (t->count * 2 >= t->capacity && !grow(t)) return;
    uint32_t hash = hash_bytes(prefix, length);
    origin_slot *slot = slot_of(t, prefix, length, hash);
    char *copy = slot->prefix != NULL ? slot->prefix : malloc(length);
    if (copy == NULL) return;
    memcpy(copy, prefix, length);
    t->count += slot->prefix == NULL;
    *slot = (origin_slot){copy, length, hash, origin};
}

void origin_table_mark(const origin_table *t) {
    for (uint32_t i = 0; i < t->capacity; i++)
        if (t->slots[i].prefix != NULL) rb_gc_mark(t->slots[i].origin);
}

void origin_table_free(origin_table *t) {
    forget(t);
    free(t->slots);
}

size_t origin_table_size(const origin_table *t) {
    return t->capacity * sizeof(*t->slots);
}

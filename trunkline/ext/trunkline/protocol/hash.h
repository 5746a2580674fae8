#ifndef TRUNKLINE_PROTOCOL_HASH_H
#define TRUNKLINE_PROTOCOL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, for short keys. It does not resist chosen collisions: use it for bounded tables only. */
static inline uint32_t hash_bytes(const void *bytes, size_t length) {
    const uint8_t *at = bytes;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

#endif

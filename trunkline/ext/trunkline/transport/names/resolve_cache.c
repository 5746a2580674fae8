#include "resolve_cache_internal.h"

#include "protocol/hash.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

static lookup *buckets[BUCKETS];
static list with_result; /* the least recently used first */
static size_t result_count;

static lookup **bucket_of(const char *host) {
    return &buckets[hash_bytes(host, strlen(host)) % BUCKETS];
}

static bool has_result(const lookup *name) {
    return name->state == LOOKUP_RESOLVED || name->state == LOOKUP_FAILED;
}

void lookup_unlist(lookup *name) {
    if (!name->listed) return;
    lookup **link = bucket_of(name->host);
    while (*link != name) link = &(*link)->chain;
    *link = name->chain;
    if (has_result(name)) {
        list_remove(&with_result, &name->result_node);
        result_count--;
    }
    name->listed = false;
    lookup_drop(name);
}

static lookup *search(const char *host) {
    lookup *name = *bucket_of(host);
    while (name != NULL && strcmp(name->host, host) != 0) name = name->chain;
    return name;
}

static bool holds(const lookup *name, nanoseconds now, nanoseconds max_age) {
    if (now >= name->expires) return false;
    return name->state == LOOKUP_FAILED || max_age == 0 ||
           now < clock_after(name->resolved_at, max_age);
}

lookup *lookup_find(const char *host, nanoseconds now, nanoseconds max_age, bool *known) {
    lookup *name = search(host);
    *known = false;
    if (name == NULL || !has_result(name)) return name;
    if (!holds(name, now, max_age)) {
        *known = name->state == LOOKUP_RESOLVED;
        lookup_unlist(name);
        return NULL;
    }
    list_touch(&with_result, &name->result_node);
    return name;
}

lookup *lookup_add(const char *host, bool known) {
    size_t size = strlen(host) + 1;
    lookup *name = calloc(1, sizeof(*name) + size);
    if (name == NULL) return NULL;
    memcpy(name->host, host, size);
    lookup **bucket = bucket_of(host);
    name->chain = *bucket;
    *bucket = name;
    name->state = LOOKUP_QUEUED;
    name->known = known;
    name->references = 1;
    name->listed = true;
    return name;
}

static lookup *least_recent(void) {
    return LIST_FIRST(&with_result, lookup, result_node);
}

void lookup_set_result(lookup *name, const lookup_result *result, nanoseconds now) {
    bool good = result->list != NULL;
    name->result = *result;
    name->state = good ? LOOKUP_RESOLVED : LOOKUP_FAILED;
    name->resolved_at = now;
    name->expires = clock_after(now, good ? LOOKUP_FRESH : LOOKUP_FAILED_FRESH);
    if (!name->listed) return;
    list_append(&with_result, &name->result_node);
    if (++result_count > LOOKUP_LIMIT) lookup_unlist(least_recent());
    /* A failure because of missing memory or descriptors is not cached for the next caller. */
    if (result->why.code == FAILURE_OUT_OF_MEMORY || result->why.system_error != 0)
        lookup_unlist(name);
}

lookup *lookup_keep(lookup *name) {
    name->references++;
    return name;
}

void lookup_drop(lookup *name) {
    if (--name->references > 0) return;
    free(name->result.list);
    free(name);
}

void lookup_forget(const char *host) {
    lookup *name = search(host);
    if (name != NULL && has_result(name)) lookup_unlist(name);
}

void lookup_forget_all(void) {
    while (with_result.first != NULL) lookup_unlist(least_recent());
}

void lookup_each(void (*visit)(void *data, lookup *name), void *data) {
    for (int i = 0; i < BUCKETS; i++) {
        for (lookup *name = buckets[i], *following; name != NULL; name = following) {
            following = name->chain;
            visit(data, name);
        }
    }
}

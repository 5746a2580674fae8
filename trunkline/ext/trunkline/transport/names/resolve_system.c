#define _GNU_SOURCE
#include "resolve_system_internal.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

static int call_getaddrinfo(const char *host, resolve_lookup other, void **result) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    if (other != NULL) return other(host, NULL, &hints, result);
    return getaddrinfo(host, NULL, &hints, (struct addrinfo **)result);
}

static bool usable(const struct addrinfo *a) {
    return (a->ai_family == AF_INET || a->ai_family == AF_INET6) &&
           a->ai_addrlen <= sizeof(struct sockaddr_storage);
}

/* Copies the result of getaddrinfo to `result`, in the same order. */
static void copy_addresses(lookup_result *result, const struct addrinfo *found) {
    size_t count = 0;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) count += usable(a);
    if (count > RESOLVE_MAX_ADDRESSES) count = RESOLVE_MAX_ADDRESSES;
    if (count == 0) {
        failure_set(&result->why, FAILURE_RESOLVE, PHASE_RESOLVE, 0, "it has no address");
        return;
    }
    result->list = calloc(count, sizeof(*result->list));
    if (result->list == NULL) {
        failure_set(&result->why, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
        return;
    }
    for (const struct addrinfo *a = found; a != NULL && result->count < count; a = a->ai_next) {
        if (!usable(a)) continue;
        endpoint *e = &result->list[result->count++];
        memcpy(&e->address, a->ai_addr, a->ai_addrlen);
        e->length = a->ai_addrlen;
    }
}

void resolve_system(const char *host, resolve_lookup other, void (*release)(void *),
                    lookup_result *result) {
    void *found = NULL;
    errno = 0;
    int code = call_getaddrinfo(host, other, &found);
    int system_error = errno;
    if (code == 0) {
        copy_addresses(result, found);
    } else if (code == EAI_SYSTEM) {
        failure_set(&result->why, FAILURE_RESOLVE, PHASE_RESOLVE, system_error, "%s: %s", host,
                    strerror(system_error));
    } else if (code == EAI_MEMORY) {
        failure_set(&result->why, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
    } else {
        failure_set(&result->why, FAILURE_RESOLVE, PHASE_RESOLVE, 0, "%s: %s", host,
                    gai_strerror(code));
    }
    if (found == NULL) return;
    if (other != NULL)
        release(found);
    else
        freeaddrinfo(found);
}

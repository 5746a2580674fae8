#define _GNU_SOURCE
#include "resolve_system.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

static int ask(const char *host, resolve_lookup other, void **result) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    if (other != NULL) return other(host, NULL, &hints, result);
    return getaddrinfo(host, NULL, &hints, (struct addrinfo **)result);
}

static bool usable(const struct addrinfo *a) {
    return (a->ai_family == AF_INET || a->ai_family == AF_INET6) &&
           a->ai_addrlen <= sizeof(struct sockaddr_storage);
}

/* Copies the result of getaddrinfo to `answer`, in the same order. */
static void take_in(lookup_answer *answer, const struct addrinfo *found) {
    size_t count = 0;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) count += usable(a);
    if (count > RESOLVE_MAX_ADDRESSES) count = RESOLVE_MAX_ADDRESSES;
    if (count == 0) {
        failure_set(&answer->why, FAILURE_RESOLVE, PHASE_RESOLVE, 0, "it has no address");
        return;
    }
    answer->list = calloc(count, sizeof(*answer->list));
    if (answer->list == NULL) {
        failure_set(&answer->why, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
        return;
    }
    for (const struct addrinfo *a = found; a != NULL && answer->count < count; a = a->ai_next) {
        if (!usable(a)) continue;
        endpoint *e = &answer->list[answer->count++];
        memcpy(&e->address, a->ai_addr, a->ai_addrlen);
        e->length = a->ai_addrlen;
    }
}

void resolve_system(const char *host, resolve_lookup other, void (*release)(void *),
                    lookup_answer *answer) {
    void *found = NULL;
    errno = 0;
    int code = ask(host, other, &found);
    int system_error = errno;
    if (code == 0) {
        take_in(answer, found);
    } else if (code == EAI_SYSTEM) {
        failure_set(&answer->why, FAILURE_RESOLVE, PHASE_RESOLVE, system_error, "%s: %s", host,
                    strerror(system_error));
    } else if (code == EAI_MEMORY) {
        failure_set(&answer->why, FAILURE_OUT_OF_MEMORY, PHASE_RESOLVE, ENOMEM, NULL);
    } else {
        failure_set(&answer->why, FAILURE_RESOLVE, PHASE_RESOLVE, 0, "%s: %s", host,
                    gai_strerror(code));
    }
    if (found == NULL) return;
    if (other != NULL)
        release(found);
    else
        freeaddrinfo(found);
}

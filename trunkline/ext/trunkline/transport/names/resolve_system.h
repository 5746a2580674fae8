#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_SYSTEM_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_SYSTEM_H

#include "resolve_cache.h"

#define RESOLVE_MAX_ADDRESSES 64 /* of one name; further ones are left out */

/* Asks the system (getaddrinfo; or `other`, whose results `release` frees) for `host`'s addresses,
 * and waits as long as it takes. *answer is the caller's: addresses in the order of RFC 6724, or
 * why there are none. Needs no lock. */
void resolve_system(const char *host, resolve_lookup other, void (*release)(void *),
                    lookup_answer *answer);

#endif

#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_SYSTEM_INTERNAL_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_SYSTEM_INTERNAL_H

#include "resolve_cache_internal.h"

/* Looks up `host` with getaddrinfo (or `other`, whose results `release` frees), and blocks until it
 * is done. Fills in *result, whose list the caller owns: addresses in the order of RFC 6724, or why
 * there are none. Needs no lock. */
void resolve_system(const char *host, resolve_lookup other, void (*release)(void *),
                    lookup_result *result);

#endif

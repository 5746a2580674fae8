#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_SYSTEM_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_SYSTEM_H

#include "resolve_cache.h"

#define RESOLVE_MAX_ADDRESSES 64 /* per name; further addresses are dropped */

/* Looks up `host` with getaddrinfo (or `other`, whose results `release` frees), and blocks until it
 * is done. Fills in *result, whose list the caller owns: addresses in the order of RFC 6724, or why
 * there are none. Needs no lock. */
void resolve_system(const char *host, resolve_lookup other, void (*release)(void *),
                    lookup_result *result);

#endif

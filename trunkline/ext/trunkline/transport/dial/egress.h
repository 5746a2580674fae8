#ifndef TRUNKLINE_TRANSPORT_DIAL_EGRESS_H
#define TRUNKLINE_TRANSPORT_DIAL_EGRESS_H

#include "special_addresses.h"
#include "transport/common/options.h"
#include "transport/names/resolve.h"

/*
 * The addresses that a client may connect to: public addresses, with exceptions. `deny` has
 * precedence over `allow`, and `allow` over the special networks of special_addresses.h.
 */
typedef struct {
    ip_network *list; /* owned */
    size_t count;
} ip_networks;

typedef struct egress {
    ip_networks allow, deny;
    uint16_t *ports;   /* owned */
    size_t port_count; /* 0: any port */
    bool unix_sockets, proxies;
} egress;

/* Returns whether a call may use this route: checks its port, Unix socket and proxy, and behind a
 * proxy a literal address, because egress_permits does not see the server's address then. To be
 * called for each call, because calls to several servers share a connection to a proxy. `e` NULL
 * allows everything. Returns false with *f. */
bool egress_permits_route(const egress *e, const route *r, failure *f);

/* Returns whether these addresses may be dialled. One forbidden address forbids all, because the
 * name server decides which of them is tried. Returns false with *f, which names the address and
 * the rule. */
bool egress_permits(const egress *e, const endpoint *list, size_t count, failure *f);

void egress_free(egress *e); /* frees what `e` owns */

#endif

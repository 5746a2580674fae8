#ifndef TRUNKLINE_TRANSPORT_DIAL_EGRESS_H
#define TRUNKLINE_TRANSPORT_DIAL_EGRESS_H

#include "special_addresses.h"
#include "transport/common/options.h"
#include "transport/names/resolve.h"

/*
 * Where a client may connect to: public addresses, with exceptions. `deny` counts before `allow`,
 * and `allow` before what special_addresses.h refuses.
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

/* May a call take this route? Its port, a Unix socket and a proxy are checked, and behind a proxy a
 * literal address, for no address is dialled then. To be asked for each call, because calls to
 * several servers share a connection to a proxy. `e` NULL allows everything. Returns false with *f.
 */
bool egress_permits_route(const egress *e, const route *r, failure *f);

/* May these addresses be dialled? One that may not refuses all: whoever answers for the name
 * chooses which of them is tried. Returns false with *f, which names the address and the rule. */
bool egress_permits(const egress *e, const endpoint *list, size_t count, failure *f);

void egress_free(egress *e); /* what it owns */

#endif

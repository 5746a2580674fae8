#define _GNU_SOURCE
#include "egress.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_ROOM 160

static bool refuse(failure *f, const char *reason) {
    return failure_set(f, FAILURE_EGRESS, PHASE_CONNECT, 0, "%s", reason);
}

/* ---- addresses ---- */

static const ip_network *holding(const ip_networks *among, const ip_address *address) {
    for (size_t i = 0; i < among->count; i++)
        if (ip_network_holds(&among->list[i], address)) return &among->list[i];
    return NULL;
}

static void denied(const ip_network *n, char *reason, size_t room) {
    char words[IP_NETWORK_ROOM];
    ip_network_words(n, words, sizeof(words));
    snprintf(reason, room, "is denied (deny: %s)", words);
}

/* Returns whether the address may be dialled; if not, `reason` continues a sentence that begins
 * with the address. */
static bool permits(const egress *e, const ip_address *address, char *reason, size_t room) {
    const ip_network *deny = holding(&e->deny, address);
    if (deny != NULL) {
        denied(deny, reason, room);
        return false;
    }
    if (holding(&e->allow, address) != NULL) return true;
    const special_network *special = special_network_of(address);
    if (special != NULL) {
        snprintf(reason, room, "is %s (%s, %s)", special->is, special->network, special->source);
        return false;
    }
    ip_address inside;
    if (!ip_address_inside(address, &inside)) return true;
    char words[IP_NETWORK_ROOM], why[REASON_ROOM / 2];
    if (permits(e, &inside, why, sizeof(why))) return true;
    ip_network_words(&(ip_network){inside, 128}, words, sizeof(words));
    *strchr(words, '/') = '\0';
    snprintf(reason, room, "leads to %s, which %s", words, why);
    return false;
}

static bool permits_address(const egress *e, const struct sockaddr_storage *from, failure *f) {
    ip_address address;
    char reason[REASON_ROOM], words[IP_NETWORK_ROOM] = "";
    if (!ip_address_from(from, &address)) return refuse(f, "it is no address of IPv4 or IPv6");
    if (permits(e, &address, reason, sizeof(reason))) return true;
    ip_address_words(from, words, sizeof(words));
    return failure_set(f, FAILURE_EGRESS, PHASE_CONNECT, 0, "%s %s", words, reason);
}

bool egress_permits(const egress *e, const endpoint *list, size_t count, failure *f) {
    for (size_t i = 0; e != NULL && i < count; i++)
        if (!permits_address(e, &list[i].address, f)) return false;
    return true;
}

/* ---- routes ---- */

static bool permits_port(const egress *e, uint16_t port, failure *f) {
    for (size_t i = 0; i < e->port_count; i++)
        if (e->ports[i] == port) return true;
    return e->port_count == 0 ||
           failure_set(f, FAILURE_EGRESS, PHASE_CONNECT, 0, "port %u is not one of ports:", port);
}

/* Checks every notation that the resolver reads as an address (127.1, 0x7f000001), because the
 * proxy's resolver may read it so, too. */
static bool permits_literal(const egress *e, const char *host, failure *f) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return true;
    struct sockaddr_storage address = {0};
    memcpy(&address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return permits_address(e, &address, f);
}

bool egress_permits_route(const egress *e, const route *r, failure *f) {
    if (e == NULL) return true;
    if (r->unix_path != NULL)
        return e->unix_sockets || refuse(f, "a Unix socket needs unix: true in egress:");
    if (!permits_port(e, r->port, f)) return false;
    if (r->proxy == NULL) return true;
    if (!e->proxies) return refuse(f, "a proxy needs proxy: true in egress:");
    return permits_literal(e, r->host, f);
}

void egress_free(egress *e) {
    free(e->allow.list);
    free(e->deny.list);
    free(e->ports);
}

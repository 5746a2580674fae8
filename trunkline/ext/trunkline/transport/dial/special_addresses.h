#ifndef TRUNKLINE_TRANSPORT_DIAL_SPECIAL_ADDRESSES_H
#define TRUNKLINE_TRANSPORT_DIAL_SPECIAL_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Addresses outside the public internet: the special-purpose registries of IANA (RFC 6890), and the
 * metadata services of clouds. An IPv4 address is stored as an IPv4-mapped IPv6 address (RFC 4291,
 * section 2.5.5.2), so that both notations are equal.
 */
typedef struct {
    uint8_t bytes[16];
} ip_address;

typedef struct {
    ip_address prefix;
    uint8_t bits; /* of 128, also for IPv4: 10.0.0.0/8 has 104 */
} ip_network;

#define IP_NETWORK_ROOM 52 /* an IPv6 address, its prefix length and the NUL */

/* Converts the address in *from. Returns false when it is neither IPv4 nor IPv6. */
bool ip_address_from(const struct sockaddr_storage *from, ip_address *out);

/* Writes "10.0.0.5" or "2001:db8::1"; an IPv4-mapped address as "::ffff:10.0.0.5". */
void ip_address_words(const struct sockaddr_storage *from, char *text, size_t size);

/* Parses "10.0.0.0/8", "fc00::/7", or an address alone. Returns false for other text. */
bool ip_network_parse(const char *text, ip_network *out);

/* Writes a network as ip_network_parse reads it; `size` is at least IP_NETWORK_ROOM. */
void ip_network_words(const ip_network *n, char *text, size_t size);

/* Returns whether the network contains the address. An IPv6 network of fewer than 96 bits contains
 * no IPv4 address. */
bool ip_network_holds(const ip_network *n, const ip_address *address);

typedef struct {
    const char *network; /* "10.0.0.0/8" */
    const char *is;      /* "private" */
    const char *source;  /* "RFC 1918" */
} special_network;

/* Returns the narrowest special network that contains the address; NULL: it is public. */
const special_network *special_network_of(const ip_address *address);

/* Extracts the IPv4 address that a translator (NAT64, RFC 6052) or a tunnel (ISATAP, RFC 5214)
 * derives from a public IPv6 address and sends to. Returns whether there is one. */
bool ip_address_inside(const ip_address *address, ip_address *out);

#endif

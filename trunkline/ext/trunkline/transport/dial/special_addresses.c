#include "special_addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPPED_BITS 96

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Narrower networks come before the networks that contain them. A network without text is public.
 * The last two rows make only global unicast addresses of IPv6 public. */
static const special_network table[] = {
    {"169.254.169.254/32", "a metadata service", "link-local, RFC 3927"},
    {"168.63.129.16/32", "a metadata service", "of Azure"},
    {"100.100.100.200/32", "a metadata service", "of Alibaba Cloud"},
    {"192.0.0.192/32", "a metadata service", "of Oracle Cloud"},
    {"0.0.0.0/8", "this host or network", "RFC 1122"},
    {"10.0.0.0/8", "private", "RFC 1918"},
    {"100.64.0.0/10", "behind carrier-grade NAT", "RFC 6598"},
    {"127.0.0.0/8", "loopback", "RFC 1122"},
    {"169.254.0.0/16", "link-local", "RFC 3927"},
    {"172.16.0.0/12", "private", "RFC 1918"},
    {"192.0.0.0/24", "of IETF protocols", "RFC 6890"},
    {"192.0.2.0/24", "for documentation", "RFC 5737"},
    {"192.88.99.0/24", "a relay of 6to4", "RFC 7526"},
    {"192.168.0.0/16", "private", "RFC 1918"},
    {"198.18.0.0/15", "for benchmarks", "RFC 2544"},
    {"198.51.100.0/24", "for documentation", "RFC 5737"},
    {"203.0.113.0/24", "for documentation", "RFC 5737"},
    {"224.0.0.0/4", "multicast", "RFC 5771"},
    {"255.255.255.255/32", "broadcast", "RFC 919"},
    {"240.0.0.0/4", "reserved", "RFC 1112"},

    {"fd00:ec2::254/128", "a metadata service", "of AWS"},
    {"fd20:ce::254/128", "a metadata service", "of Google Cloud"},
    {"::/128", "unspecified", "RFC 4291"},
    {"::1/128", "loopback", "RFC 4291"},
    {"::/96", "IPv4-compatible", "RFC 4291"},
    {"::ffff:0:0:0/96", "IPv4-translated", "RFC 2765"},
    {"64:ff9b:1::/48", "of a local NAT64", "RFC 8215"},
    {"100::/64", "to be discarded", "RFC 6666"},
    {"2001::/32", "of Teredo", "RFC 4380"},
    {"2001:2::/48", "for benchmarks", "RFC 5180"},
    {"2001:db8::/32", "for documentation", "RFC 3849"},
    {"2001::/23", "of IETF protocols", "RFC 2928"},
    {"2002::/16", "of 6to4", "RFC 3056"},
    {"3fff::/20", "for documentation", "RFC 9637"},
    {"5f00::/16", "of segment routing", "RFC 9602"},
    {"fc00::/7", "private", "RFC 4193"},
    {"fe80::/10", "link-local", "RFC 4291"},
    {"fec0::/10", "site-local", "RFC 3879"},
    {"ff00::/8", "multicast", "RFC 4291"},

    {"64:ff9b::/96", NULL, NULL},
    {"2000::/3", NULL, NULL},
    {"::/0", "no global unicast address", "RFC 4291"},
};

/* ---- addresses and networks ---- */

static void map(const void *ipv4, ip_address *out) {
    memcpy(out->bytes, mapped, sizeof(mapped));
    memcpy(out->bytes + sizeof(mapped), ipv4, 4);
}

static bool is_mapped(const ip_address *address) {
    return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

bool ip_address_from(const struct sockaddr_storage *from, ip_address *out) {
    if (from->ss_family == AF_INET)
        map(&((const struct sockaddr_in *)from)->sin_addr, out);
    else if (from->ss_family == AF_INET6)
        memcpy(out->bytes, &((const struct sockaddr_in6 *)from)->sin6_addr, sizeof(out->bytes));
    else
        return false;
    return true;
}

void ip_address_words(const struct sockaddr_storage *from, char *text, size_t size) {
    const void *bytes = from->ss_family == AF_INET
                            ? (const void *)&((const struct sockaddr_in *)from)->sin_addr
                            : (const void *)&((const struct sockaddr_in6 *)from)->sin6_addr;
    if (inet_ntop(from->ss_family, bytes, text, (socklen_t)size) == NULL) text[0] = '\0';
}

/* Parses digits, up to `most`; NULL stands for `most`. */
static bool parse_bits(const char *text, unsigned most, unsigned *out) {
    *out = most;
    if (text == NULL) return true;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 3 || text[digits] != '\0') return false;
    *out = (unsigned)strtoul(text, NULL, 10);
    return *out <= most;
}

bool ip_network_parse(const char *text, ip_network *out) {
    char address[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    if (length >= sizeof(address)) return false;
    memcpy(address, text, length);
    address[length] = '\0';

    unsigned bits;
    uint8_t ipv4[4];
    if (inet_pton(AF_INET, address, ipv4) == 1) {
        if (!parse_bits(slash != NULL ? slash + 1 : NULL, 32, &bits)) return false;
        map(ipv4, &out->prefix);
        out->bits = (uint8_t)(MAPPED_BITS + bits);
        return true;
    }
    if (inet_pton(AF_INET6, address, out->prefix.bytes) != 1) return false;
    if (!parse_bits(slash != NULL ? slash + 1 : NULL, 128, &bits)) return false;
    out->bits = (uint8_t)bits;
    return true;
}

void ip_network_words(const ip_network *n, char *text, size_t size) {
    char address[INET6_ADDRSTRLEN];
    bool ipv4 = n->bits >= MAPPED_BITS && is_mapped(&n->prefix);
    inet_ntop(ipv4 ? AF_INET : AF_INET6, n->prefix.bytes + (ipv4 ? sizeof(mapped) : 0), address,
              sizeof(address));
    snprintf(text, size, "%s/%d", address, n->bits - (ipv4 ? MAPPED_BITS : 0));
}

bool ip_network_holds(const ip_network *n, const ip_address *address) {
    if (n->bits < MAPPED_BITS && is_mapped(address)) return false;
    size_t whole = n->bits / 8;
    if (memcmp(n->prefix.bytes, address->bytes, whole) != 0) return false;
    if (n->bits % 8 == 0) return true;
    uint8_t mask = (uint8_t)(0xff << (8 - n->bits % 8));
    return ((n->prefix.bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

/* ---- special addresses ---- */

const special_network *special_network_of(const ip_address *address) {
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        ip_network n;
        if (ip_network_parse(table[i].network, &n) && ip_network_holds(&n, address))
            return table[i].is != NULL ? &table[i] : NULL;
    }
    return NULL;
}

bool ip_address_inside(const ip_address *address, ip_address *out) {
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    static const uint8_t isatap[4] = {0x00, 0x00, 0x5e, 0xfe};
    uint8_t interface[4];
    memcpy(interface, address->bytes + 8, sizeof(interface));
    interface[0] &= 0xfd; /* the bit that marks a globally unique IPv4 address */
    if (memcmp(address->bytes, nat64, sizeof(nat64)) != 0 &&
        memcmp(interface, isatap, sizeof(isatap)) != 0)
        return false;
    map(address->bytes + 12, out);
    return true;
}

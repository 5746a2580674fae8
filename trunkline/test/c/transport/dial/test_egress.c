#define _GNU_SOURCE
#include "transport/dial/egress.h"
#include "transport/dial/dial.h"
#include "check.h"
#include "sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* The addresses and routes that a rule permits, and the names with which it refuses others. */

static egress public_only;

static endpoint endpoint_of(const char *literal) {
    endpoint e = {0};
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(literal, "80", &hints, &found) != 0) return e;
    memcpy(&e.address, found->ai_addr, found->ai_addrlen);
    e.length = found->ai_addrlen;
    freeaddrinfo(found);
    return e;
}

static bool permitted(const egress *rule, const char *literal, failure *f) {
    endpoint e = endpoint_of(literal);
    CHECK(e.length > 0, "%s is an address", literal);
    *f = (failure){0};
    return egress_permits(rule, &e, 1, f);
}

/* The first and the last address of each special network, with its description in the message; and
 * the adjacent addresses on both sides (NULL: not public). */
static const struct {
    const char *first, *last, *said, *before, *after;
} networks[] = {
    {"0.0.0.0", "0.255.255.255", "(0.0.0.0/8, RFC 1122)", NULL, "1.0.0.0"},
    {"10.0.0.0", "10.255.255.255", "private (10.0.0.0/8, RFC 1918)", "9.255.255.255", "11.0.0.0"},
    {"100.64.0.0", "100.127.255.255", "(100.64.0.0/10, RFC 6598)", "100.63.255.255", "100.128.0.0"},
    {"127.0.0.0", "127.255.255.255", "loopback (127.0.0.0/8", "126.255.255.255", "128.0.0.0"},
    {"169.254.0.0", "169.254.255.255", "link-local", "169.253.255.255", "169.255.0.0"},
    {"169.254.169.254", "169.254.169.254", "a metadata service (169.254.169.254/32", NULL, NULL},
    {"172.16.0.0", "172.31.255.255", "private (172.16.0.0/12", "172.15.255.255", "172.32.0.0"},
    {"192.0.0.0", "192.0.0.255", "of IETF protocols", "191.255.255.255", "192.0.1.0"},
    {"192.0.2.0", "192.0.2.255", "for documentation", "192.0.1.255", "192.0.3.0"},
    {"192.88.99.0", "192.88.99.255", "a relay of 6to4", "192.88.98.255", "192.88.100.0"},
    {"192.168.0.0", "192.168.255.255", "private (192.168.0.0/16", "192.167.255.255", "192.169.0.0"},
    {"198.18.0.0", "198.19.255.255", "for benchmarks", "198.17.255.255", "198.20.0.0"},
    {"198.51.100.0", "198.51.100.255", "for documentation", "198.51.99.255", "198.51.101.0"},
    {"203.0.113.0", "203.0.113.255", "for documentation", "203.0.112.255", "203.0.114.0"},
    {"224.0.0.0", "239.255.255.255", "multicast (224.0.0.0/4", "223.255.255.255", NULL},
    {"240.0.0.0", "255.255.255.254", "reserved", NULL, NULL},
    {"255.255.255.255", "255.255.255.255", "broadcast", NULL, NULL},
    {"168.63.129.16", "168.63.129.16", "of Azure", "168.63.129.15", "168.63.129.17"},
    {"100.100.100.200", "100.100.100.200", "of Alibaba Cloud", NULL, NULL},
    {"192.0.0.192", "192.0.0.192", "of Oracle Cloud", NULL, NULL},
    {"::", "::", "unspecified", NULL, NULL},
    {"::1", "::1", "loopback (::1/128", NULL, NULL},
    {"::2", "::fffe:ffff:ffff", "", NULL, NULL},
    {"::7f00:1", "::7f00:1", "IPv4-compatible", NULL, NULL},
    {"::ffff:0:7f00:1", "::ffff:0:7f00:1", "IPv4-translated", NULL, NULL},
    {"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "of a local NAT64", NULL, NULL},
    {"100::", "100::ffff:ffff:ffff:ffff", "to be discarded", NULL, NULL},
    {"2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "of Teredo", "2000:ffff::", NULL},
    {"2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "for benchmarks", NULL, NULL},
    {"2001:20::", "2001:1ff:ffff::", "of IETF protocols", NULL, "2001:200::"},
    {"2001:db8::", "2001:db8:ffff::", "for documentation", "2001:db7:ffff::", "2001:db9::"},
    {"2002::", "2002:ffff:ffff::1", "of 6to4 (2002::/16", "2001:ffff::", "2003::"},
    {"3fff::", "3fff:fff:ffff::", "for documentation", "3ffe:ffff::", "3fff:1000::"},
    {"4000::", "fbff::", "", "3fff:ffff::", NULL},
    {"5f00::", "5f00:ffff::", "of segment routing", NULL, NULL},
    {"fc00::", "fdff:ffff::", "private (fc00::/7, RFC 4193)", NULL, NULL},
    {"fd00:ec2::254", "fd00:ec2::254", "of AWS", NULL, NULL},
    {"fd20:ce::254", "fd20:ce::254", "of Google Cloud", NULL, NULL},
    {"fe80::", "febf:ffff::", "link-local (fe80::/10", NULL, NULL},
    {"fe80::1%lo", "fe80::1%1", "link-local (fe80::/10", NULL, NULL},
    {"fec0::", "feff:ffff::", "site-local", NULL, NULL},
    {"ff00::", "ffff:ffff::", "multicast", NULL, NULL},
};

static void check_refused(const egress *rule, const char *literal, const char *said) {
    failure f;
    CHECK(!permitted(rule, literal, &f), "%s is refused", literal);
    CHECK(f.code == FAILURE_EGRESS && f.phase == PHASE_CONNECT, "%s: the failure is egress'",
          literal);
    CHECK(strstr(f.detail, said) != NULL, "%s is refused because \"%s\": %s", literal, said,
          f.detail);
}

static void check_permitted(const egress *rule, const char *literal) {
    failure f;
    if (literal != NULL) CHECK(permitted(rule, literal, &f), "%s is public: %s", literal, f.detail);
}

/* Tests IPv6 forms of an IPv4 address: IPv4-mapped, NAT64 and ISATAP. */
static void check_embedded(const char *ipv4, const char *said) {
    char text[64];
    if (ipv4 == NULL || strchr(ipv4, ':') != NULL) return;
    const char *const prefixes[] = {
        "::ffff:", "64:ff9b::", "2606:4700::5efe:", "2606:4700::200:5efe:"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        snprintf(text, sizeof(text), "%s%s", prefixes[i], ipv4);
        if (said != NULL)
            check_refused(&public_only, text, said);
        else
            check_permitted(&public_only, text);
    }
}

static void test_what_is_special_is_refused(void) {
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        check_case("%s to %s", networks[i].first, networks[i].last);
        check_refused(&public_only, networks[i].first, networks[i].said);
        check_refused(&public_only, networks[i].last, networks[i].said);
        check_permitted(&public_only, networks[i].before);
        check_permitted(&public_only, networks[i].after);
        check_embedded(networks[i].first, networks[i].said);
        check_embedded(networks[i].before, NULL);
    }
}

static void test_the_resolver_reads_an_address_in_many_ways(void) {
    static const char *const loopback[] = {
        "127.1",        "127.0.1", "2130706433",    "0x7f000001", "0x7f.1",
        "017700000001", "0177.1",  "0x7f.0.0x0.01", "127.65534",  "0"};
    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
        check_refused(&public_only, loopback[i], "RFC 1122");
    check_refused(&public_only, "0xa9fea9fe", "metadata");
    check_refused(&public_only, "0251.0376.0251.0376", "metadata");
}

static void test_an_inner_address_is_told(void) {
    check_refused(&public_only, "64:ff9b::10.0.0.5",
                  "64:ff9b::a00:5 leads to 10.0.0.5, which is private (10.0.0.0/8, RFC 1918)");
}

/* ---- exceptions ---- */

static ip_networks networks_of(const char *text) {
    ip_networks list = {calloc(1, sizeof(ip_network)), 1};
    CHECK(ip_network_parse(text, &list.list[0]), "%s is a network", text);
    return list;
}

static void test_exceptions(void) {
    egress rule = {.allow = networks_of("10.1.0.0/16"), .deny = networks_of("10.1.2.0/24")};
    check_permitted(&rule, "10.1.0.1");
    check_permitted(&rule, "::ffff:10.1.0.1");
    check_permitted(&rule, "64:ff9b::10.1.0.1");
    check_refused(&rule, "10.2.0.1", "private");
    check_refused(&rule, "10.1.2.3", "is denied (deny: 10.1.2.0/24)");
    check_refused(&rule, "::ffff:10.1.2.3", "is denied");
    check_refused(&rule, "64:ff9b::10.1.2.3", "which is denied");
    egress_free(&rule);
}

static void test_all_of_ipv6_is_nothing_of_ipv4(void) {
    egress rule = {.allow = networks_of("::/0")};
    check_permitted(&rule, "::1");
    check_refused(&rule, "::ffff:127.0.0.1", "loopback");
    check_refused(&rule, "127.0.0.1", "loopback");
    egress_free(&rule);
    rule = (egress){.allow = networks_of("0.0.0.0/0")};
    check_permitted(&rule, "127.0.0.1");
    check_permitted(&rule, "::ffff:127.0.0.1");
    check_refused(&rule, "::1", "loopback");
    egress_free(&rule);
}

static void test_one_address_refuses_all(void) {
    failure f = {0};
    endpoint list[] = {endpoint_of("93.184.216.34"), endpoint_of("2606:4700::1"),
                       endpoint_of("10.0.0.5")};
    CHECK(egress_permits(&public_only, list, 2, &f), "two public ones: %s", f.detail);
    CHECK(!egress_permits(&public_only, list, 3, &f), "one of three is private");
    CHECK(strncmp(f.detail, "10.0.0.5 is private", 19) == 0, "it is named: %s", f.detail);
    CHECK(egress_permits(NULL, list, 3, &f), "without a rule nothing is refused");
}

static void test_networks_as_text(void) {
    static const char *const wrong[] = {
        "",       "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x", "10.0.0/8",
        "::/129", "::g/8",       "a.test",      "[::1]",     "fe80::1%lo",  "1.2.3.4/0008"};
    ip_network n;
    char words[IP_NETWORK_ROOM];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK(!ip_network_parse(wrong[i], &n), "\"%s\" is no network", wrong[i]);
    static const char *const right[] = {"0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32",
                                        "::/0",      "fc00::/7",   "2001:db8::1/128"};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        CHECK(ip_network_parse(right[i], &n), "%s is a network", right[i]);
        ip_network_words(&n, words, sizeof(words));
        CHECK(strcmp(words, right[i]) == 0, "%s is written %s", right[i], words);
    }
}

/* ---- routes ---- */

static bool route_permitted(const egress *rule, route r, failure *f) {
    *f = (failure){0};
    return egress_permits_route(rule, &r, f);
}

static void test_routes(void) {
    failure f;
    uint16_t ports[] = {80, 443};
    const proxy p = {.kind = PROXY_HTTP, .tunnel = true, .host = "proxy.test", .port = 3128};
    const route direct = {.host = "api.test", .port = 8080},
                through = {"api.test", 443, .proxy = &p};
    egress rule = {.ports = ports, .port_count = 2};

    CHECK(route_permitted(&public_only, direct, &f), "any port: %s", f.detail);
    CHECK(!route_permitted(&rule, direct, &f), "another port");
    CHECK(strcmp(f.detail, "port 8080 is not one of ports:") == 0, "it is told: %s", f.detail);
    CHECK(!route_permitted(&rule, (route){.unix_path = "/run/a"}, &f), "a Unix socket");
    CHECK(strstr(f.detail, "unix: true") != NULL, "what it takes: %s", f.detail);
    CHECK(!route_permitted(&rule, through, &f), "a proxy");
    CHECK(strstr(f.detail, "proxy: true") != NULL, "what it takes: %s", f.detail);
    CHECK(route_permitted(NULL, through, &f), "no rule");

    rule.proxies = rule.unix_sockets = true;
    CHECK(route_permitted(&rule, through, &f), "a name behind a proxy: %s", f.detail);
    CHECK(route_permitted(&rule, (route){.unix_path = "/run/a"}, &f), "a Unix socket by name");
    CHECK(!route_permitted(&rule, (route){"0x7f.1", 443, .proxy = &p}, &f),
          "an address behind a proxy");
    CHECK(strncmp(f.detail, "127.0.0.1 is loopback", 21) == 0, "it is named: %s", f.detail);
    CHECK(route_permitted(&rule, (route){"93.184.216.34", 443, .proxy = &p}, &f),
          "a public address behind a proxy: %s", f.detail);
}

/* ---- a dial ---- */

static void test_a_dial_that_is_refused_opens_no_socket(void) {
    uint16_t port;
    int listener = listen_on_loopback(4, &port);
    call_options s = {.total = NEVER, .egress = &public_only};
    for (int i = 0; i < PHASE_COUNT; i++) s.timeouts[i] = NEVER;
    static const char *const hosts[] = {"127.0.0.1", "::ffff:127.0.0.1", "127.0.0.1"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        const proxy p = {.kind = PROXY_SOCKS5,
                         .tunnel = true,
                         .host = "127.0.0.1",
                         .port = port,
                         .label = "proxy"};
        const route r = {.host = hosts[i],
                         .port = port,
                         .label = "here",
                         .key = "k",
                         .key_length = 1,
                         .proxy = i == 2 ? &p : NULL};
        waker *w = waker_take();
        dial *d = dial_new(&r, &s, w, clock_now());
        dialled out;
        failure f = {0};
        struct pollfd entries[DIAL_MAX_ATTEMPTS];
        nanoseconds deadline;
        CHECK(dial_step(d, clock_now(), &out, &f) == IO_FAILED, "%s is refused", hosts[i]);
        CHECK(f.code == FAILURE_EGRESS && strstr(f.detail, "loopback") != NULL, "why: %s",
              f.detail);
        CHECK(dial_wait(d, entries, DIAL_MAX_ATTEMPTS, &deadline) == 0, "no socket was opened");
        dial_free(d);
        waker_drop(w);
    }
    close(listener);
}

int main(void) {
    RUN(test_what_is_special_is_refused());
    RUN(test_the_resolver_reads_an_address_in_many_ways());
    RUN(test_an_inner_address_is_told());
    RUN(test_exceptions());
    RUN(test_all_of_ipv6_is_nothing_of_ipv4());
    RUN(test_one_address_refuses_all());
    RUN(test_networks_as_text());
    RUN(test_routes());
    RUN(test_a_dial_that_is_refused_opens_no_socket());
    return check_report();
}

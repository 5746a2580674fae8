#include "tls_internal.h"

#include <openssl/x509v3.h>
#include <string.h>
#include <strings.h>

/*
 * The rule of Ruby's OpenSSL::SSL.verify_certificate_identity: the common name is used when there
 * is no alternative name of a host; a wildcard matches a part of the first label, or all of it,
 * also directly before a top-level domain; an IP address may be given in the form of a name.
 */

typedef struct {
    const char *text;
    size_t length;
} span;

static span until(const char *text, size_t length, char end) {
    const char *at = memchr(text, end, length);
    return (span){text, at == NULL ? length : (size_t)(at - text)};
}

static bool same(span a, span b) {
    return a.length == b.length && strncasecmp(a.text, b.text, a.length) == 0;
}

/* Returns whether the first label of a name matches that of a pattern (RFC 6125, section 6.4.3). */
static bool label_fits(span label, span pattern) {
    span before = until(pattern.text, pattern.length, '*');
    if (before.length == pattern.length) return same(label, pattern);
    span after = {before.text + before.length + 1, pattern.length - before.length - 1};
    if (memchr(after.text, '*', after.length) != NULL) return false;
    if (pattern.length > 1 && label.length >= 4 && strncasecmp(label.text, "xn--", 4) == 0)
        return false;
    if (before.length + after.length >= label.length) return false;
    span start = {label.text, before.length};
    span end = {label.text + label.length - after.length, after.length};
    return same(start, before) && same(end, after);
}

static bool fits(span name, span pattern, bool wildcards) {
    for (size_t i = 0; i < pattern.length; i++) {
        uint8_t byte = (uint8_t)pattern.text[i];
        if (byte == 0 || byte > 0x7F) return false;
    }
    if (!wildcards || memchr(pattern.text, '.', pattern.length) == NULL) return same(name, pattern);
    span label = until(name.text, name.length, '.');
    span first = until(pattern.text, pattern.length, '.');
    span rest = {name.text + label.length, name.length - label.length};
    span other = {pattern.text + first.length, pattern.length - first.length};
    return same(rest, other) && label_fits(label, first);
}

static span string_span(const ASN1_STRING *string) {
    return (span){(const char *)ASN1_STRING_get0_data(string), (size_t)ASN1_STRING_length(string)};
}

/* Returns whether one of the alternative names matches. *any is set when there is one of a host. */
static bool alternative_fits(X509 *certificate, span name, bool numeric, bool *any) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(names, i);
        *any |= one->type == GEN_DNS || one->type == GEN_IPADD;
        if (one->type == GEN_DNS) found |= fits(name, string_span(one->d.dNSName), !numeric);
    }
    GENERAL_NAMES_free(names);
    return found;
}

static bool common_name_fits(X509 *certificate, span name, bool numeric) {
    const X509_NAME *subject = X509_get_subject_name(certificate);
    bool found = false;
    for (int at = -1;;) {
        at = X509_NAME_get_index_by_NID((X509_NAME *)subject, NID_commonName, at);
        if (at < 0) return found;
        const X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, at);
        found |= fits(name, string_span(X509_NAME_ENTRY_get_data(entry)), !numeric);
    }
}

bool tls_identity_matches(X509 *certificate, const char *name, bool numeric) {
    span given = {name, strlen(name)};
    bool any = false;
    if (given.length == 0) return false;
    if (numeric && X509_check_ip_asc(certificate, name, 0) == 1) return true;
    if (alternative_fits(certificate, given, numeric, &any)) return true;
    return !any && common_name_fits(certificate, given, numeric);
}

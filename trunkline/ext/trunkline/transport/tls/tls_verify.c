#include "tls_internal.h"

#include "protocol/guard.h"

#include <arpa/inet.h>
#include <string.h>
#include <time.h>

/* Neither a partial wildcard ("f*.example") nor the common name is accepted: RFC 9110, section
 * 4.3.4, allows subject alternative names only. */
#define HOST_FLAGS (X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

bool tls_verify_expect(tls *t, failure *f) {
    /* An IP literal is not sent as SNI (RFC 6066, section 3). */
    if (!t->numeric && t->name[0] != '\0' && SSL_set_tlsext_host_name(t->ssl, t->name) != 1)
        return tls_no_memory(f);
    if (!t->context->options.verify || t->context->options.any_name) return true;
    if (!GUARD(CERTIFICATE_NAME)) return true;
    if (t->context->options.common_name) return true; /* tls_verify_again checks the name */
    /* For OpenSSL a leading dot matches any subdomain, and an empty name matches any name. */
    if (t->name[0] == '\0' || t->name[0] == '.')
        return failure_set(f, FAILURE_TLS, PHASE_TLS, 0, "\"%s\" is no name to verify", t->name);
    X509_VERIFY_PARAM *expected = SSL_get0_param(t->ssl);
    X509_VERIFY_PARAM_set_hostflags(expected, HOST_FLAGS);
    int set = t->numeric ? X509_VERIFY_PARAM_set1_ip_asc(expected, t->name)
                         : X509_VERIFY_PARAM_set1_host(expected, t->name, 0);
    return set == 1 || tls_no_memory(f);
}

/* ---- error messages ---- */

static void subject_words(X509 *certificate, bool issuer, char *text, size_t size) {
    const X509_NAME *name = NULL;
    if (certificate != NULL)
        name = issuer ? X509_get_issuer_name(certificate) : X509_get_subject_name(certificate);
    BIO *out = BIO_new(BIO_s_mem());
    int length = -1;
    /* XN_FLAG_RFC2253 escapes characters that could forge a line of a log. */
    if (out != NULL && name != NULL && X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253) >= 0)
        length = BIO_read(out, text, (int)size - 1);
    text[length > 0 ? length : 0] = '\0';
    BIO_free(out);
}

static void time_words(const ASN1_TIME *time, char *text, size_t size) {
    struct tm t;
    if (time == NULL || ASN1_TIME_to_tm(time, &t) != 1 ||
        strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", &t) == 0)
        snprintf(text, size, "an unknown date");
}

static void name_words(const GENERAL_NAME *name, char *text, size_t size) {
    int type;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
    text[0] = '\0';
    if (type == GEN_DNS) {
        snprintf(text, size, "%.*s", ASN1_STRING_length(value),
                 (const char *)ASN1_STRING_get0_data(value));
        for (char *c = text; *c != '\0'; c++)
            if (*c < 0x21 || *c > 0x7E) *c = '?';
    } else if (type == GEN_IPADD) {
        int family = ASN1_STRING_length(value) == 4 ? AF_INET : AF_INET6;
        if (family == AF_INET || ASN1_STRING_length(value) == 16)
            inet_ntop(family, ASN1_STRING_get0_data(value), text, (socklen_t)size);
    }
}

/* Writes "a.test, b.test, ...": as many names as fit. */
static void names_words(X509 *certificate, char *text, size_t size) {
    GENERAL_NAMES *names = NULL;
    if (certificate != NULL)
        names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    size_t used = 0;
    snprintf(text, size, "no name at all");
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        char one[128];
        name_words(sk_GENERAL_NAME_value(names, i), one, sizeof(one));
        if (one[0] == '\0') continue;
        if (used + strlen(one) + 8 > size) {
            snprintf(text + used, size - used, ", ...");
            break;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", one);
    }
    GENERAL_NAMES_free(names);
}

static void mismatch_words(const tls *t, X509 *certificate, char *text, size_t size) {
    char names[112];
    names_words(certificate, names, sizeof(names));
    snprintf(text, size, "it is for %s, not for %s%s", names, t->numeric ? "the address " : "",
             t->name);
}

static void authority_words(const tls *t, X509 *certificate, char *text, size_t size) {
    char issuer[80];
    subject_words(certificate, true, issuer, sizeof(issuer));
    snprintf(text, size, "its issuer %s is not in %s", issuer, t->context->authorities);
}

static void reason_words(const tls *t, int error, X509 *certificate, char *text, size_t size) {
    char when[40];
    switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: mismatch_words(t, certificate, text, size); break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        time_words(X509_get0_notAfter(certificate), when, sizeof(when));
        snprintf(text, size, "it has expired, on %s", when);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        time_words(X509_get0_notBefore(certificate), when, sizeof(when));
        snprintf(text, size, "it is not valid before %s", when);
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        snprintf(text, size, "it is self-signed and not in %s", t->context->authorities);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        authority_words(t, certificate, text, size);
        break;
    default: snprintf(text, size, "%s", X509_verify_cert_error_string(error));
    }
}

static void set_certificate_error(tls *t, int error, int depth, X509 *certificate) {
    char subject[80], reason[216];
    subject_words(certificate, false, subject, sizeof(subject));
    if (certificate != NULL)
        reason_words(t, error, certificate, reason, sizeof(reason));
    else
        snprintf(reason, sizeof(reason), "%s", X509_verify_cert_error_string(error));
    snprintf(t->certificate_error, sizeof(t->certificate_error), "%s (depth %d): %s", subject,
             depth, reason);
}

/* ---- the checks ---- */

static bool named(const tls *t, X509 *certificate) {
    if (t->context->options.any_name || !GUARD(CERTIFICATE_NAME)) return true;
    if (t->context->options.common_name)
        return tls_identity_matches(certificate, t->name, t->numeric);
    if (t->numeric) return X509_check_ip_asc(certificate, t->name, HOST_FLAGS) == 1;
    return X509_check_host(certificate, t->name, 0, HOST_FLAGS, NULL) == 1;
}

static int mismatch(const tls *t) {
    return t->numeric ? X509_V_ERR_IP_ADDRESS_MISMATCH : X509_V_ERR_HOSTNAME_MISMATCH;
}

static int refuse(tls *t, X509_STORE_CTX *store, int error, X509 *certificate) {
    X509_STORE_CTX_set_error(store, error);
    set_certificate_error(t, error, X509_STORE_CTX_get_error_depth(store), certificate);
    return 0;
}

/* OpenSSL checks names by its own rule. Ruby's rule is checked here at each handshake, because a
 * renegotiation may present another certificate. */
int tls_verify_callback(int good, X509_STORE_CTX *store) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    tls *t = SSL_get_app_data(ssl);
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    if (!good && GUARD(CERTIFICATE_CHAIN))
        return refuse(t, store, X509_STORE_CTX_get_error(store), certificate);
    bool leaf = X509_STORE_CTX_get_error_depth(store) == 0;
    if (t->context->options.common_name && leaf && !named(t, certificate))
        return refuse(t, store, mismatch(t), certificate);
    return 1;
}

static X509 *peer_certificate(SSL *ssl) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    return SSL_get1_peer_certificate(ssl);
#else
    return SSL_get_peer_certificate(ssl);
#endif
}

bool tls_verify_again(tls *t) {
    if (!t->context->options.verify) return true;
    X509 *certificate = peer_certificate(t->ssl);
    long result = SSL_get_verify_result(t->ssl);
    if (certificate == NULL)
        snprintf(t->certificate_error, sizeof(t->certificate_error), "the server has shown none");
    else if (GUARD(CERTIFICATE_CHAIN) && result != X509_V_OK)
        set_certificate_error(t, (int)result, 0, certificate);
    else if (!named(t, certificate))
        set_certificate_error(t, mismatch(t), 0, certificate);
    X509_free(certificate);
    return t->certificate_error[0] == '\0';
}

#ifndef TRUNKLINE_TEST_CERTIFICATES_H
#define TRUNKLINE_TEST_CERTIFICATES_H

#include "sockets.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

/* Certificates of all kinds, created anew for each run, in a folder that is removed with it. */

#define DAY 86400L

typedef struct {
    X509 *certificate;
    EVP_PKEY *key;
} identity;

typedef struct {
    const char *common_name;
    const char *names; /* "DNS:localhost,IP:127.0.0.1"; NULL: none */
    long from, until;  /* seconds from now */
    bool authority;
} certificate_request;

static char folder[] = "/tmp/trunkline-tls-XXXXXX";

static inline const char *in_folder(const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static inline EVP_PKEY *make_key(void) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    if (EVP_PKEY_keygen_init(c) != 1 ||
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(c, NID_X9_62_prime256v1) != 1 ||
        EVP_PKEY_keygen(c, &key) != 1)
        give_up("make a key");
    EVP_PKEY_CTX_free(c);
    return key;
}

static inline void add_extension(X509 *certificate, int kind, const char *value) {
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, kind, value);
    if (e == NULL || X509_add_ext(certificate, e, -1) != 1) give_up(value);
    X509_EXTENSION_free(e);
}

static inline X509_NAME *make_name(const char *common_name) {
    X509_NAME *name = X509_NAME_new();
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1,
                               -1, 0);
    return name;
}

/* With `issuer` NULL the certificate is self-signed. */
static inline identity make_identity(const certificate_request *wanted, const identity *issuer) {
    static long serial = 1;
    identity made = {X509_new(), make_key()};
    X509 *c = made.certificate;
    X509_NAME *name = make_name(wanted->common_name);
    X509_set_version(c, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c), serial++);
    X509_gmtime_adj(X509_getm_notBefore(c), wanted->from);
    X509_gmtime_adj(X509_getm_notAfter(c), wanted->until);
    X509_set_subject_name(c, name);
    X509_set_issuer_name(c, issuer != NULL ? X509_get_subject_name(issuer->certificate) : name);
    X509_set_pubkey(c, made.key);
    add_extension(c, NID_basic_constraints, wanted->authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (wanted->names != NULL) add_extension(c, NID_subject_alt_name, wanted->names);
    if (X509_sign(c, issuer != NULL ? issuer->key : made.key, EVP_sha256()) == 0)
        give_up("sign a certificate");
    X509_NAME_free(name);
    return made;
}

static inline identity make_named(const char *common_name, const char *names,
                                  const identity *issuer) {
    certificate_request wanted = {common_name, names, -DAY, DAY, false};
    return make_identity(&wanted, issuer);
}

static inline identity make_authority(const char *common_name) {
    certificate_request wanted = {common_name, NULL, -DAY, DAY, true};
    return make_identity(&wanted, NULL);
}

static inline void free_identity(identity *i) {
    X509_free(i->certificate);
    EVP_PKEY_free(i->key);
}

/* Writes the certificate, and its key behind it if requested, as a PEM file in the folder. */
static inline void write_pem(const char *name, const identity *i, bool certificate, bool key) {
    char path[256];
    FILE *out = fopen(in_folder(name, path, sizeof(path)), "w");
    if (out == NULL) give_up(path);
    if (certificate) PEM_write_X509(out, i->certificate);
    if (key) PEM_write_PrivateKey(out, i->key, NULL, NULL, 0, NULL, NULL);
    fclose(out);
}

static inline void make_folder(void) {
    if (mkdtemp(folder) == NULL) give_up("mkdtemp");
}

static inline void remove_folder(const char *const *names) {
    char path[256];
    for (; *names != NULL; names++) unlink(in_folder(*names, path, sizeof(path)));
    rmdir(folder);
}

#endif

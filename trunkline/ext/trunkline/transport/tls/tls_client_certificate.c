#include "tls_internal.h"

#include <openssl/pem.h>
#include <string.h>

/* Loads the client's certificate and key, from files or from PEM text in memory. */

bool tls_is_pem(const char *text) {
    return text != NULL && strstr(text, "-----BEGIN ") != NULL;
}

/* Passes the password to OpenSSL, or an error; without this callback OpenSSL would prompt for one
 * on the terminal. */
static int give_password(char *buffer, int size, int writing, void *password) {
    (void)writing;
    size_t length = password != NULL ? strlen(password) : 0;
    if (length == 0 || length > (size_t)size) return -1;
    memcpy(buffer, password, length);
    return (int)length;
}

static bool failed(failure *f, const char *option, const char *text_or_path) {
    char words[160];
    return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0, "%s %s: %s", option,
                       tls_is_pem(text_or_path) ? "given as text" : text_or_path,
                       tls_words(words, sizeof(words)));
}

static bool key_of_another(const char *key, failure *f) {
    ERR_clear_error();
    return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0,
                       "client_key %s: is not the key of client_cert",
                       tls_is_pem(key) ? "given as text" : key);
}

/* Returns whether OpenSSL found nothing that it could decode, which it reports since 3.0 as
 * "unsupported". */
static bool holds_no_key(unsigned long error) {
    int library = ERR_GET_LIB(error);
#ifdef ERR_LIB_OSSL_DECODER
    if (library == ERR_LIB_OSSL_DECODER) return ERR_GET_REASON(error) == ERR_R_UNSUPPORTED;
#endif
    return library == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static bool no_key(const tls_options *o, const char *key, failure *f) {
    bool with_certificate = strcmp(key, o->client_cert) == 0;
    ERR_clear_error();
    return failure_set(
        f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0, "%s %s: holds no private key that can be read%s",
        with_certificate ? "client_cert" : "client_key", tls_is_pem(key) ? "given as text" : key,
        with_certificate ? "; give client_key" : "");
}

static bool key_failed(const tls_options *o, const char *key, failure *f) {
    unsigned long error = ERR_peek_last_error();
    if (ERR_GET_LIB(error) == ERR_LIB_X509) return key_of_another(key, f);
    if (holds_no_key(error)) return no_key(o, key, f);
    bool no_password =
        ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_BAD_PASSWORD_READ;
    if (!no_password) return failed(f, "client_key", key);
    ERR_clear_error();
    return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0, "client_key %s: is encrypted, and %s",
                       tls_is_pem(key) ? "given as text" : key,
                       o->client_key_password != NULL ? "client_key_password is too long"
                                                      : "client_key_password is not given");
}

/* The certificates after the first are its chain. */
static bool use_certificates(SSL_CTX *ssl, BIO *text) {
    X509 *certificate = PEM_read_bio_X509_AUX(text, NULL, give_password, NULL);
    bool used = certificate != NULL && SSL_CTX_use_certificate(ssl, certificate) == 1;
    X509_free(certificate);
    while (used && (certificate = PEM_read_bio_X509(text, NULL, give_password, NULL)) != NULL) {
        used = SSL_CTX_add0_chain_cert(ssl, certificate) == 1;
        if (!used) X509_free(certificate);
    }
    if (used) ERR_clear_error(); /* the end of the text is an error to PEM_read_bio_X509 */
    return used;
}

static bool use_key(SSL_CTX *ssl, BIO *text, const char *password) {
    EVP_PKEY *key = PEM_read_bio_PrivateKey(text, NULL, give_password, (void *)password);
    bool used = key != NULL && SSL_CTX_use_PrivateKey(ssl, key) == 1;
    EVP_PKEY_free(key);
    return used;
}

static bool load_certificates(SSL_CTX *ssl, const char *text_or_path) {
    if (!tls_is_pem(text_or_path))
        return SSL_CTX_use_certificate_chain_file(ssl, text_or_path) == 1;
    BIO *text = BIO_new_mem_buf(text_or_path, -1);
    bool used = text != NULL && use_certificates(ssl, text);
    BIO_free(text);
    return used;
}

static bool load_key(SSL_CTX *ssl, const char *text_or_path, const char *password) {
    BIO *text = tls_is_pem(text_or_path) ? BIO_new_mem_buf(text_or_path, -1)
                                         : BIO_new_file(text_or_path, "r");
    bool used = text != NULL && use_key(ssl, text, password);
    BIO_free(text);
    return used;
}

static bool exists(const char *option, const char *text_or_path, failure *f) {
    return tls_is_pem(text_or_path) || tls_check_file(option, text_or_path, f);
}

bool tls_use_client_certificate(SSL_CTX *ssl, const tls_options *o, failure *f) {
    if (o->client_cert == NULL) return true;
    const char *key = o->client_key != NULL ? o->client_key : o->client_cert;
    if (!exists("client_cert", o->client_cert, f) || !exists("client_key", key, f)) return false;
    if (!load_certificates(ssl, o->client_cert)) return failed(f, "client_cert", o->client_cert);
    if (!load_key(ssl, key, o->client_key_password)) return key_failed(o, key, f);
    return SSL_CTX_check_private_key(ssl) == 1 || key_of_another(key, f);
}

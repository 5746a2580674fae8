#include "engine.h"

#include <openssl/x509.h>
#include <string.h>

/* Ruby's own OpenSSL extension may be built with another libcrypto than this one: then its objects
 * are not ours to use. */
static bool same_library(void) {
    VALUE openssl = rb_const_get(rb_cObject, rb_intern("OpenSSL"));
    VALUE version = rb_const_get(openssl, rb_intern("OPENSSL_LIBRARY_VERSION"));
    return strcmp(StringValueCStr(version), OpenSSL_version(OPENSSL_VERSION)) == 0;
}

struct x509_store_st *openssl_store_keep(VALUE object) {
    if (NIL_P(object)) return NULL;
    if (!RB_TYPE_P(object, T_DATA) || !RTYPEDDATA_P(object) ||
        strcmp(RTYPEDDATA_TYPE(object)->wrap_struct_name, "OpenSSL/X509/STORE") != 0 ||
        !same_library())
        errors_invalid(
            "ca_store: must be an OpenSSL::X509::Store of the OpenSSL that trunkline uses (%s)",
            OpenSSL_version(OPENSSL_VERSION));
    X509_STORE *store = RTYPEDDATA_DATA(object);
    if (store == NULL) errors_invalid("ca_store: must be initialized");
    tls_enter();
    X509_STORE_up_ref(store);
    tls_leave();
    return store;
}

void openssl_store_release(struct x509_store_st *store) {
    tls_enter();
    X509_STORE_free(store);
    tls_leave();
}

#include "engine.h"

#include <string.h>

struct x509_store_st *openssl_store_keep(VALUE object) {
    if (NIL_P(object)) return NULL;
    if (!RB_TYPE_P(object, T_DATA) || !RTYPEDDATA_P(object) ||
        strcmp(RTYPEDDATA_TYPE(object)->wrap_struct_name, "OpenSSL/X509/STORE") != 0)
        errors_invalid("ca_store: must be an OpenSSL::X509::Store");
    if (RTYPEDDATA_DATA(object) == NULL) errors_invalid("ca_store: must be initialized");
    tls_enter();
    /* The type's address identifies Ruby's OpenSSL extension, which defines it. */
    struct x509_store_st *store = tls_store_keep(RTYPEDDATA_DATA(object), RTYPEDDATA_TYPE(object));
    tls_leave();
    if (store == NULL)
        errors_invalid("ca_store: the OpenSSL of Ruby is another copy than trunkline's, and its "
                       "stores cannot be read; use ca_file: or ca_path:");
    return store;
}

/* call-seq: Engine.same_openssl?(store) -> whether Ruby's OpenSSL, which made the
 * OpenSSL::X509::Store, is the engine's */
static VALUE engine_same_openssl_p(VALUE self, VALUE store) {
    (void)self;
    if (!RB_TYPE_P(store, T_DATA) || !RTYPEDDATA_P(store))
        errors_invalid("store: must be an OpenSSL::X509::Store");
    return tls_same_openssl(RTYPEDDATA_TYPE(store)) ? Qtrue : Qfalse;
}

void openssl_store_init(void) {
    rb_define_singleton_method(mEngine, "same_openssl?", engine_same_openssl_p, 1);
}

void openssl_store_release(struct x509_store_st *store) {
    tls_enter();
    tls_store_release(store);
    tls_leave();
}

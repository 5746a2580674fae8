#define _GNU_SOURCE
#include "tls_internal.h"

#include <dlfcn.h>
#include <stdlib.h>

#if OPENSSL_VERSION_NUMBER >= 0x30000000L
typedef const X509_NAME subject;
#else
typedef X509_NAME subject;
#endif

/* The functions of a copy of OpenSSL that is not the engine's. The objects that they take and
 * return belong to that copy: only DER passes between the two. */
typedef struct {
    int (*X509_STORE_up_ref)(void *);
    void (*X509_STORE_free)(void *);
    void *(*X509_STORE_get0_param)(void *);
    unsigned long (*X509_VERIFY_PARAM_get_flags)(void *);
    void *(*X509_STORE_CTX_new)(void);
    int (*X509_STORE_CTX_init)(void *, void *, void *, void *);
    void (*X509_STORE_CTX_free)(void *);
    void *(*X509_STORE_CTX_get1_certs)(void *, void *);
    void *(*X509_STORE_CTX_get1_crls)(void *, void *);
    void *(*d2i_X509_NAME)(void **, const unsigned char **, long);
    void (*X509_NAME_free)(void *);
    int (*i2d_X509)(void *, unsigned char **);
    void (*X509_free)(void *);
    int (*i2d_X509_CRL)(void *, unsigned char **);
    void (*X509_CRL_free)(void *);
    int (*OPENSSL_sk_num)(void *);
    void *(*OPENSSL_sk_value)(void *, int);
    void (*OPENSSL_sk_pop_free)(void *, void (*)(void *));
    void (*ERR_clear_error)(void);
} copy;

/* POSIX guarantees that the pointer that dlsym returns can hold a function's address. */
#define FIND(c, library, function) \
    ((*(void **)&(c)->function = dlsym((library), #function)) != NULL)

static bool find_functions(copy *c, void *library) {
    return FIND(c, library, X509_STORE_up_ref) && FIND(c, library, X509_STORE_free) &&
           FIND(c, library, X509_STORE_get0_param) &&
           FIND(c, library, X509_VERIFY_PARAM_get_flags) && FIND(c, library, X509_STORE_CTX_new) &&
           FIND(c, library, X509_STORE_CTX_init) && FIND(c, library, X509_STORE_CTX_free) &&
           FIND(c, library, X509_STORE_CTX_get1_certs) &&
           FIND(c, library, X509_STORE_CTX_get1_crls) && FIND(c, library, d2i_X509_NAME) &&
           FIND(c, library, X509_NAME_free) && FIND(c, library, i2d_X509) &&
           FIND(c, library, X509_free) && FIND(c, library, i2d_X509_CRL) &&
           FIND(c, library, X509_CRL_free) && FIND(c, library, OPENSSL_sk_num) &&
           FIND(c, library, OPENSSL_sk_value) && FIND(c, library, OPENSSL_sk_pop_free) &&
           FIND(c, library, ERR_clear_error);
}

/* Returns a handle of the library that contains `address`, which also finds functions of the
 * libraries that it is linked with; NULL: not found. The caller calls dlclose. */
static void *library_of(const void *address) {
    Dl_info about;
    if (dladdr(address, &about) == 0) return NULL;
    void *library = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return library != NULL ? library : dlopen(NULL, RTLD_LAZY); /* it is in the executable */
}

/* ---- look-ups in the other copy's store ---- */

/* The data of the X509_LOOKUP of a store that stands in for another copy's store. */
typedef struct {
    copy functions;
    void *library;
    void *store; /* the other copy's store; one reference */
} other;

/* Adds to `engine_store` one certificate or revocation list of the other copy. */
static void add(const copy *c, X509_STORE *engine_store, X509_LOOKUP_TYPE type, void *object) {
    int (*encode)(void *, unsigned char **) = type == X509_LU_X509 ? c->i2d_X509 : c->i2d_X509_CRL;
    int length = encode(object, NULL);
    unsigned char *der = length > 0 ? malloc((size_t)length) : NULL;
    if (der == NULL) return;
    unsigned char *end = der;
    encode(object, &end);
    const unsigned char *from = der;
    if (type == X509_LU_X509) {
        X509 *certificate = d2i_X509(NULL, &from, length);
        if (certificate != NULL) X509_STORE_add_cert(engine_store, certificate);
        X509_free(certificate);
    } else {
        X509_CRL *list = d2i_X509_CRL(NULL, &from, length);
        if (list != NULL) X509_STORE_add_crl(engine_store, list);
        X509_CRL_free(list);
    }
    free(der);
}

/* Adds to `engine_store` all objects of this subject that the other copy finds, in its own files
 * and directories too. */
static void add_all(const other *o, X509_STORE *engine_store, X509_LOOKUP_TYPE type,
                    subject *name) {
    const copy *c = &o->functions;
    unsigned char *der = NULL;
    int length = i2d_X509_NAME(name, &der);
    const unsigned char *from = der;
    void *wanted = length > 0 ? c->d2i_X509_NAME(NULL, &from, length) : NULL;
    OPENSSL_free(der);
    void *search = c->X509_STORE_CTX_new();
    if (wanted != NULL && search != NULL &&
        c->X509_STORE_CTX_init(search, o->store, NULL, NULL) == 1) {
        bool certificates = type == X509_LU_X509;
        void *found = certificates ? c->X509_STORE_CTX_get1_certs(search, wanted)
                                   : c->X509_STORE_CTX_get1_crls(search, wanted);
        int count = found != NULL ? c->OPENSSL_sk_num(found) : 0;
        for (int i = 0; i < count; i++) add(c, engine_store, type, c->OPENSSL_sk_value(found, i));
        if (found != NULL)
            c->OPENSSL_sk_pop_free(found, certificates ? c->X509_free : c->X509_CRL_free);
    }
    if (search != NULL) c->X509_STORE_CTX_free(search);
    if (wanted != NULL) c->X509_NAME_free(wanted);
    c->ERR_clear_error();
}

/* The X509_LOOKUP_METHOD's function for objects that the store itself does not hold yet. The object
 * in `result` belongs to the store and has no reference of its own, as in OpenSSL's look-ups. */
static int by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, subject *name,
                      X509_OBJECT *result) {
    if (type != X509_LU_X509 && type != X509_LU_CRL) return 0;
    X509_STORE *engine_store = X509_LOOKUP_get_store(lookup);
    add_all(X509_LOOKUP_get_method_data(lookup), engine_store, type, name);
    X509_STORE_lock(engine_store);
    X509_OBJECT *found =
        X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(engine_store), type, name);
    X509 *certificate = found != NULL ? X509_OBJECT_get0_X509(found) : NULL;
    X509_CRL *list = found != NULL ? X509_OBJECT_get0_X509_CRL(found) : NULL;
    if (certificate != NULL && X509_OBJECT_set1_X509(result, certificate))
        X509_free(certificate);
    else if (list != NULL && X509_OBJECT_set1_X509_CRL(result, list))
        X509_CRL_free(list);
    X509_STORE_unlock(engine_store);
    return found != NULL;
}

static void free_unused(other *o) {
    if (o->library != NULL) dlclose(o->library);
    free(o);
}

static void free_other(X509_LOOKUP *lookup) {
    other *o = X509_LOOKUP_get_method_data(lookup);
    if (o == NULL) return;
    o->functions.X509_STORE_free(o->store);
    free_unused(o);
}

static X509_LOOKUP_METHOD *method(void) {
    static X509_LOOKUP_METHOD *made; /* kept until the process ends */
    if (made != NULL) return made;
    X509_LOOKUP_METHOD *m = X509_LOOKUP_meth_new("another copy of OpenSSL");
    if (m == NULL) return NULL;
    X509_LOOKUP_meth_set_get_by_subject(m, by_subject);
    X509_LOOKUP_meth_set_free(m, free_other);
    return made = m;
}

/* ---- stores ---- */

/* Returns a store of the engine's copy that looks everything up in `o`, which it owns; NULL when
 * out of memory, and the caller still owns `o`. */
static X509_STORE *stand_in(other *o) {
    X509_STORE *engine_store = X509_STORE_new();
    X509_LOOKUP_METHOD *by = method();
    X509_LOOKUP *lookup =
        engine_store != NULL && by != NULL ? X509_STORE_add_lookup(engine_store, by) : NULL;
    if (lookup == NULL || !X509_LOOKUP_set_method_data(lookup, o)) {
        X509_STORE_free(engine_store);
        return NULL;
    }
    o->functions.X509_STORE_up_ref(o->store);
    void *parameters = o->functions.X509_STORE_get0_param(o->store);
    X509_STORE_set_flags(engine_store, o->functions.X509_VERIFY_PARAM_get_flags(parameters));
    return engine_store;
}

/* The last stand-ins, so that equal options stay equal. A stand-in keeps a reference to the other
 * store, so that no new store gets its address meanwhile. */
static struct {
    void *store;
    X509_STORE *engine_store;
} known[TLS_STORES];
static unsigned next_known;

static X509_STORE *known_stand_in(const void *store) {
    for (unsigned i = 0; i < TLS_STORES; i++)
        if (known[i].engine_store != NULL && known[i].store == store) return known[i].engine_store;
    return NULL;
}

static X509_STORE *new_stand_in(void *store, other *o) {
    o->store = store;
    X509_STORE *engine_store = stand_in(o);
    if (engine_store == NULL) return NULL;
    unsigned i = next_known++ % TLS_STORES;
    X509_STORE_free(known[i].engine_store);
    known[i].store = store;
    known[i].engine_store = engine_store;
    return engine_store;
}

/* Compares addresses, because two copies of one version differ in nothing but the addresses of
 * their functions. */
static bool same_copy(const other *o) {
    int (*other_up_ref)(X509_STORE *) = NULL;
    *(void **)&other_up_ref = dlsym(o->library, "X509_STORE_up_ref");
    return other_up_ref == X509_STORE_up_ref;
}

bool tls_same_openssl(const void *address) {
    other o = {.library = library_of(address)};
    if (o.library == NULL) return false;
    bool same = same_copy(&o);
    dlclose(o.library);
    return same;
}

struct x509_store_st *tls_store_keep(void *store, const void *maker) {
    X509_STORE *engine_store = known_stand_in(store);
    other *o = engine_store == NULL ? calloc(1, sizeof(*o)) : NULL;
    if (o != NULL && (o->library = library_of(maker)) != NULL) {
        if (same_copy(o))
            engine_store = store;
        else if (find_functions(&o->functions, o->library))
            engine_store = new_stand_in(store, o);
    }
    if (o != NULL && (engine_store == NULL || engine_store == store)) free_unused(o);
    if (engine_store != NULL) X509_STORE_up_ref(engine_store);
    return engine_store;
}

void tls_store_release(struct x509_store_st *store) {
    X509_STORE_free(store);
}

#define _GNU_SOURCE
#include "tls_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

/* One set of CA files, parsed. */
typedef struct {
    char *key;         /* owned; the files and their state */
    X509_STORE *store; /* owned; one reference */
    list_node node;    /* in `sets` */
} ca_set;

/* The last sets, the least recently used first. The registry's lock guards both. */
static list sets;
static int set_count;

/* Where distributions keep CA certificates, for an OpenSSL that was built for other paths. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/etc/ssl/cert.pem",
};

static bool exists(const char *path) {
    return access(path, R_OK) == 0;
}

static const char *environment(const char *variable) {
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static tls_authorities system_authorities(void) {
    const char *file = environment(X509_get_default_cert_file_env());
    const char *directories = environment(X509_get_default_cert_dir_env());
    bool chosen = file != NULL || directories != NULL;
    tls_authorities a = {
        file != NULL ? file : X509_get_default_cert_file(),
        directories != NULL ? directories : X509_get_default_cert_dir(),
        true,
    };
    if (chosen || tls_authorities_exist(&a)) return a;
    for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++) {
        if (!exists(bundles[i])) continue;
        a.file = bundles[i];
        break;
    }
    return a;
}

tls_authorities tls_authorities_of(const tls_options *o) {
    if (o->ca_file == NULL && o->ca_path == NULL) return system_authorities();
    return (tls_authorities){o->ca_file, o->ca_path, false};
}

bool tls_authorities_exist(const tls_authorities *a) {
    return (a->file != NULL && exists(a->file)) ||
           (a->directories != NULL && exists(a->directories));
}

/* ---- keys ---- */

void tls_note(FILE *out, const char *text) {
    if (text == NULL)
        fputs("-,", out);
    else
        fprintf(out, "%zu:%s,", strlen(text), text); /* the length makes the key unambiguous */
}

void tls_note_file(FILE *out, const char *path) {
    struct stat about;
    tls_note(out, path);
    if (path == NULL || tls_is_pem(path) || stat(path, &about) != 0) return;
    fprintf(out, "%llu/%lld.%ld/%lld,", (unsigned long long)about.st_ino,
            (long long)about.st_mtim.tv_sec, (long)about.st_mtim.tv_nsec, (long long)about.st_size);
}

void tls_note_authorities(FILE *out, const tls_authorities *a) {
    tls_note_file(out, a->file);
    tls_note_file(out, a->directories);
}

bool tls_check_file(const char *option, const char *path, failure *f) {
    if (path == NULL || exists(path)) return true;
    int error = errno;
    return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, error, "%s %s: %s", option, path,
                       strerror(error));
}

/* ---- loading ---- */

/* Parses the file; OpenSSL finds a directory's certificates by their hash when it needs them. When
 * the system's authorities are missing no certificate is trusted. */
static bool load(X509_STORE *store, const tls_authorities *a, failure *f) {
    char words[160];
    X509_LOOKUP *files = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    X509_LOOKUP *directories = X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir());
    if (files == NULL || directories == NULL) return tls_no_memory(f);
    bool wanted = a->file != NULL && (!a->system || exists(a->file));
    if (wanted && X509_load_cert_crl_file(files, a->file, X509_FILETYPE_PEM) <= 0)
        return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0,
                           "ca_file %s: no certificate read: %s", a->file,
                           tls_words(words, sizeof(words)));
    if (a->directories != NULL &&
        X509_LOOKUP_add_dir(directories, a->directories, X509_FILETYPE_PEM) <= 0)
        return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0, "ca_path %s: %s", a->directories,
                           tls_words(words, sizeof(words)));
    ERR_clear_error();
    return true;
}

static X509_STORE *make_store(const tls_authorities *a, failure *f) {
    X509_STORE *store = X509_STORE_new();
    if (store == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    if (load(store, a, f)) return store;
    X509_STORE_free(store);
    return NULL;
}

static char *describe(const tls_authorities *a) {
    char *key = NULL;
    size_t size;
    FILE *out = open_memstream(&key, &size);
    if (out == NULL) return NULL;
    tls_note_authorities(out, a);
    if (fclose(out) == 0) return key;
    free(key);
    return NULL;
}

static void forget_oldest(void) {
    ca_set *set = LIST_ITEM(list_shift(&sets), ca_set, node);
    set_count--;
    X509_STORE_free(set->store);
    free(set->key);
    free(set);
}

static ca_set *find_set(const char *key) {
    LIST_EACH (ca_set, set, &sets, node) {
        if (strcmp(set->key, key) != 0) continue;
        list_touch(&sets, &set->node);
        return set;
    }
    return NULL;
}

static ca_set *make_set(char *key, const tls_authorities *a, failure *f) {
    ca_set *set = calloc(1, sizeof(*set));
    if (set == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    set->store = make_store(a, f);
    if (set->store == NULL) {
        free(set);
        return NULL;
    }
    set->key = key;
    list_append(&sets, &set->node);
    if (++set_count > TLS_STORES) forget_oldest();
    return set;
}

X509_STORE *tls_store_obtain(const tls_authorities *a, failure *f) {
    bool there = a->system || (tls_check_file("ca_file", a->file, f) &&
                               tls_check_file("ca_path", a->directories, f));
    if (!there) return NULL;
    char *key = describe(a);
    if (key == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    ca_set *set = find_set(key);
    if (set != NULL)
        free(key);
    else if ((set = make_set(key, a, f)) == NULL)
        free(key);
    if (set == NULL) return NULL;
    X509_STORE_up_ref(set->store);
    return set->store;
}

#include "names.h"
#include "builder.h"
#include <ruby/encoding.h>
#include <ruby/ractor.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the cached names: names usually come from templates, but may come from data. */
enum { SLOTS = 4096, MAX_CACHED = 2000, MAX_METHODS = 2000 };

/* Several Ractors fill it concurrently, without a lock: a slot is set once, and never changed. */
static known_name *known[SLOTS];
static int known_count;

static ID method_names[MAX_METHODS];
static int method_count;
static bool caching = true;
static rb_ractor_local_key_t main_ractor; /* its value is true only in the main Ractor */

static known_name *make_known(ID id, const char *name, size_t size) {
    known_name *entry = malloc(sizeof(*entry) + 3 * size + 6);
    if (!entry) return NULL;
    char *start_tag = (char *)(entry + 1), *end_tag = start_tag + size + 1;
    char *attribute = end_tag + size + 3;
    *start_tag = '<';
    memcpy(start_tag + 1, name, size);
    memcpy(end_tag, "</", 2);
    memcpy(end_tag + 2, name, size);
    end_tag[size + 2] = '>';
    *attribute = ' ';
    memcpy(attribute + 1, name, size);
    attribute[size + 1] = '=';
    *entry = (known_name){id, size, start_tag, end_tag, attribute};
    return entry;
}

static const known_name *cache_name(known_name **slot, VALUE symbol, ID id) {
    VALUE name = rb_sym2str(symbol);
    if (known_count >= MAX_CACHED || rb_enc_str_coderange(name) != ENC_CODERANGE_7BIT) return NULL;
    known_name *entry = make_known(id, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
    known_name *expected = NULL;
    if (!entry) return NULL;
    if (!__atomic_compare_exchange_n(slot, &expected, entry, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED)) {
        free(entry);
        return NULL; /* another Ractor has set the slot; the next call finds it */
    }
    __atomic_fetch_add(&known_count, 1, __ATOMIC_RELAXED);
    return entry;
}

const known_name *names_known(VALUE symbol) {
    if (!RB_STATIC_SYM_P(symbol)) return NULL;
    ID id = RB_SYM2ID(symbol);
    size_t index = (size_t)(id * 0x9E3779B1u >> 8);
    for (;; index++) {
        known_name **slot = &known[index % SLOTS];
        const known_name *name = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (!name) return cache_name(slot, symbol, id);
        if (name->id == id) return name;
    }
}

bool names_caching_p(void) {
    return caching;
}

/* The implementation of all methods of tags: writes the tag that has the called method's name. */
static VALUE native_named_tag(int argc, VALUE *argv, VALUE self) {
    return tag_write(self, ID2SYM(rb_frame_this_func()), argc, argv);
}

/* Only the main Ractor defines methods, because two Ractors must not write Ruby's method tables. */
void names_define_method(VALUE symbol) {
    if (!caching || method_count >= MAX_METHODS) return;
    if (!RTEST(rb_ractor_local_storage_value(main_ractor))) return;
    ID name = rb_sym2id(symbol);
    /* A private method's name is a tag, too, when it is called with a receiver; a method for the
     * tag must not replace the private one. */
    if (rb_method_boundp(cNative, name, 0)) return;
    method_names[method_count++] = name;
    rb_define_method_id(cNative, name, native_named_tag, -1);
}

/* Turns the cache of methods on or off (Base.cache_method_calls). While it is off, every call goes
 * through method_missing. */
static VALUE native_s_caching_set(VALUE self, VALUE flag) {
    caching = RTEST(flag);
    if (caching) return flag;
    for (int i = 0; i < method_count; i++)
        if (rb_method_boundp(cNative, method_names[i], 1))
            rb_remove_method_id(cNative, method_names[i]);
    method_count = 0;
    return flag;
}

void names_init(void) {
    main_ractor = rb_ractor_local_storage_value_newkey();
    rb_ractor_local_storage_value_set(main_ractor, Qtrue);
    rb_define_singleton_method(cNative, "caching=", native_s_caching_set, 1);
}

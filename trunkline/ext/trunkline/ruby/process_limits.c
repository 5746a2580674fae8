#include "engine.h"

#include "transport/pool/capacity.h"
#include "protocol/budget.h"

/* Limits shared by all calls of the process: see lib/trunkline/engine.rb. */

/* nil: half of the number of descriptors that the process may open. */
static VALUE set_max_connections(VALUE module, VALUE count) {
    (void)module;
    capacity_set(NIL_P(count) ? 0 : NUM2UINT(count));
    return count;
}

static VALUE set_max_buffered_bytes(VALUE module, VALUE bytes) {
    (void)module;
    budget_set(NIL_P(bytes) ? 0 : NUM2ULL(bytes));
    return bytes;
}

static VALUE process_stats(VALUE module) {
    (void)module;
    VALUE hash = rb_hash_new();
#define PUT(name, value) rb_hash_aset(hash, ID2SYM(rb_intern(name)), ULL2NUM(value))
    PUT("connections_in_use", capacity_used());
    PUT("max_connections", capacity_limit());
    PUT("buffered_bytes", budget_used());
    PUT("max_buffered_bytes", budget_limit());
#undef PUT
    return hash;
}

void process_limits_init(void) {
    rb_define_singleton_method(mEngine, "max_connections=", set_max_connections, 1);
    rb_define_singleton_method(mEngine, "max_buffered_bytes=", set_max_buffered_bytes, 1);
    rb_define_singleton_method(mEngine, "process_stats", process_stats, 0);
}

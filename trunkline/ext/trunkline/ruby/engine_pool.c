#include "request.h"

/* Engine::Pool. */

static void pool_object_free(void *data) {
    if (data != NULL) pool_release(data);
}

static const rb_data_type_t pool_type = {
    .wrap_struct_name = "Trunkline::Engine::Pool",
    .function = {.dfree = pool_object_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

pool *pool_get(VALUE object) {
    pool *p = engine_data(object, &pool_type);
    if (p == NULL) rb_raise(rb_eArgError, "the pool was not initialized");
    return p;
}

static VALUE pool_s_allocate(VALUE class) {
    return TypedData_Wrap_Struct(class, &pool_type, NULL);
}

/* call-seq: Pool.new(max_idle) */
static VALUE pool_initialize(VALUE self, VALUE max_idle) {
    uint32_t count = NUM2UINT(max_idle);
    if (RTYPEDDATA_DATA(self) == NULL) RTYPEDDATA_DATA(self) = pool_new(count);
    if (RTYPEDDATA_DATA(self) == NULL) rb_memerror();
    return self;
}

/* call-seq: stats -> Hash of counts */
static VALUE pool_stats_get(VALUE self) {
    pool_stats stats;
    pool_count(pool_get(self), &stats);
    VALUE hash = rb_hash_new();
#define COUNT(name) rb_hash_aset(hash, ID2SYM(rb_intern(#name)), ULL2NUM(stats.name))
    COUNT(connections);
    COUNT(idle);
    COUNT(in_use);
    COUNT(waiting);
    COUNT(opened);
    COUNT(reused);
    COUNT(closed);
#undef COUNT
    return hash;
}

/* call-seq: close_idle(owner_id) -> count; nil closes the idle connections of all clients */
static VALUE pool_close_idle_get(VALUE self, VALUE owner_id) {
    return UINT2NUM(pool_close_idle(pool_get(self), NIL_P(owner_id) ? 0 : NUM2ULL(owner_id)));
}

static VALUE pool_close_get(VALUE self) {
    pool_close(pool_get(self));
    return Qnil;
}

/* call-seq: takes_websocket?(request) -> whether an open HTTP/2 connection accepts WebSocket */
static VALUE pool_takes_websocket(VALUE self, VALUE request) {
    origin_object *origin = origin_get(request_sendable(request)->origin);
    pool *p = pool_get(self);
    origin_need_key(origin, request);
    return switched_shares() && pool_supports_connect(p, &origin->to) ? Qtrue : Qfalse;
}

void engine_pool_init(void) {
    VALUE cPool = rb_define_class_under(mEngine, "Pool", rb_cObject);
    rb_define_alloc_func(cPool, pool_s_allocate);
    rb_define_method(cPool, "initialize", pool_initialize, 1);
    rb_define_method(cPool, "stats", pool_stats_get, 0);
    rb_define_method(cPool, "close_idle", pool_close_idle_get, 1);
    rb_define_method(cPool, "close", pool_close_get, 0);
    rb_define_method(cPool, "takes_websocket?", pool_takes_websocket, 1);
}

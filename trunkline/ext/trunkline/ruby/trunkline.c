#include "engine.h"

#include "transport/fork.h"

VALUE mTrunkline, mEngine, cResponse;

/* call-seq: Engine.now -> monotonic seconds
 *
 * Process.clock_gettime takes three times as long, to decode its arguments. */
static VALUE engine_now(VALUE self) {
    (void)self;
    return DBL2NUM((double)clock_now() / SECOND);
}

RUBY_FUNC_EXPORTED void Init_trunkline(void);

/* lib/trunkline/errors.rb must be loaded before: it defines the classes that are raised here. */
void Init_trunkline(void) {
    int error = fork_guard();
    if (error != 0) rb_syserr_fail(error, "pthread_atfork");
    mTrunkline = rb_define_module("Trunkline");
    mEngine = rb_define_module_under(mTrunkline, "Engine");
    cResponse = rb_define_class_under(mTrunkline, "Response", rb_cObject);
    rb_gc_register_mark_object(cResponse);
    rb_gc_register_mark_object(mEngine);
    rb_define_singleton_method(mEngine, "now", engine_now, 0);
    errors_init();
    engine_config_init();
    engine_origin_init();
    engine_pool_init();
    request_init();
    request_builder_init();
    bounds_init();
    features_init();
    openssl_store_init();
    charset_init();
    response_init();
    response_builder_init();
    perform_init();
    body_reading_init();
    body_saving_init();
    switched_init();
    multi_init();
    json_batches_init();
    process_limits_init();
    stub_response_init();
    event_stream_init();
    wait_init();
}

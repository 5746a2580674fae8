#include "engine.h"

#include "transport/libraries.h"

/* The libraries in this build of the engine, for Trunkline.features. */

/* call-seq: Engine.libraries -> {name: version or nil} */
static VALUE engine_libraries(VALUE self) {
    (void)self;
    library all[LIBRARIES];
    libraries_list(all);
    VALUE versions = rb_hash_new();
    for (size_t i = 0; i < LIBRARIES; i++) {
        bool there = all[i].version[0] != '\0';
        VALUE version = there ? rb_obj_freeze(rb_utf8_str_new_cstr(all[i].version)) : Qnil;
        rb_hash_aset(versions, engine_symbol(all[i].name), version);
    }
    return versions;
}

void features_init(void) {
    rb_define_singleton_method(mEngine, "libraries", engine_libraries, 0);
}

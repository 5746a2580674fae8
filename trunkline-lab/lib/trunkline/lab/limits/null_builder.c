#include <ruby.h>

/* A builder that does nothing but call blocks: what Ruby takes for making the calls. */
static VALUE null_method_missing(int argc, VALUE *argv, VALUE self) {
    (void)argc;
    (void)argv;
    if (rb_block_given_p()) rb_yield(self);
    return Qnil;
}

RUBY_FUNC_EXPORTED void Init_null_builder(void) {
    VALUE klass = rb_define_class("NullBuilder", rb_cBasicObject);
    rb_define_method(klass, "method_missing", null_method_missing, -1);
}

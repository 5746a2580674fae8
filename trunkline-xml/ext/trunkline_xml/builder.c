#include "names.h"
#include "writer.h"

VALUE cBuilder, cNative;

/* Greater indentation and margin are handled in Ruby, which has no limit. */
enum { PLAIN_NUMBER_LIMIT = 1000 };
enum { TARGET_CAPACITY = 500 };

static bool enabled = true;
static VALUE eIllegalBlock;
static VALUE sym_indent, sym_margin, sym_quote, sym_single, sym_target, sym_nil_handling,
    sym_strict;
static ID id_new_in_ruby;

static void builder_mark(void *data) {
    const builder *b = data;
    rb_gc_mark_movable(b->target);
    rb_gc_mark_movable(b->explicit_nil);
}

static void builder_compact(void *data) {
    builder *b = data;
    b->target = rb_gc_location(b->target);
    b->explicit_nil = rb_gc_location(b->explicit_nil);
}

static size_t builder_size(const void *data) {
    (void)data;
    return sizeof(builder);
}

static const rb_data_type_t builder_type = {
    .wrap_struct_name = "Trunkline::XML::Builder",
    .function = {.dmark = builder_mark,
                 .dfree = RUBY_DEFAULT_FREE,
                 .dsize = builder_size,
                 .dcompact = builder_compact},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

/* Does not check the type, because methods of cNative have no other receivers. */
builder *builder_get(VALUE self) {
    return RTYPEDDATA_DATA(self);
}

builder *builder_find(VALUE object) {
    return rb_typeddata_is_kind_of(object, &builder_type) ? RTYPEDDATA_DATA(object) : NULL;
}

void builder_refuse_block(void) {
    if (rb_block_given_p()) rb_raise(eIllegalBlock, "Blocks are not allowed on XML instructions");
}

void builder_fall_back_to_ruby(VALUE self, builder *b) {
    if (b->in_ruby) return;
    rb_ivar_set(self, rb_intern("@target"), b->target);
    rb_ivar_set(self, rb_intern("@explicit_nil_handling"), b->explicit_nil);
    rb_ivar_set(self, rb_intern("@indent"), LONG2FIX(b->indent));
    rb_ivar_set(self, rb_intern("@level"), LONG2FIX(b->level));
    rb_ivar_set(self, rb_intern("@quote"), rb_utf8_str_new(&b->quote, 1));
    rb_ivar_set(self, rb_intern("@encoding"), rb_utf8_str_new_cstr("utf-8"));
    b->in_ruby = true;
}

void builder_descend(VALUE self, builder *b) {
    b->level++;
    if (b->in_ruby) rb_ivar_set(self, rb_intern("@level"), LONG2FIX(b->level));
}

static VALUE builder_allocate(VALUE klass) {
    builder *b;
    VALUE self = TypedData_Make_Struct(klass, builder, &builder_type, b);
    b->quote = '"';
    RB_OBJ_WRITE(self, &b->explicit_nil, Qnil);
    RB_OBJ_WRITE(self, &b->target, Qnil);
    return self;
}

/* Converts an option; nil and false are 0, as with `options[:indent] || 0`. Returns a negative
 * number for values that Ruby must handle. */
static long plain_number(VALUE value) {
    if (!RTEST(value)) return 0;
    if (!RB_FIXNUM_P(value)) return -1;
    long number = FIX2LONG(value);
    return number <= PLAIN_NUMBER_LIMIT ? number : -1;
}

static VALUE new_target(void) {
    VALUE target = rb_str_buf_new(TARGET_CAPACITY);
    rb_enc_associate_index(target, rb_utf8_encindex());
    ENC_CODERANGE_SET(target, ENC_CODERANGE_7BIT);
    return target;
}

typedef struct {
    VALUE indent, margin, quote, target, explicit_nil;
} builder_options;

static int take_option(VALUE key, VALUE value, VALUE argument) {
    builder_options *options = (builder_options *)argument;
    if (key == sym_indent)
        options->indent = value;
    else if (key == sym_margin)
        options->margin = value;
    else if (key == sym_quote)
        options->quote = value;
    else if (key == sym_target)
        options->target = value;
    else if (key == sym_nil_handling)
        options->explicit_nil = value;
    return ST_CONTINUE;
}

/* Returns a native builder for the options (a Hash, or nil), or Qfalse when only the Ruby
 * implementation supports them. */
static VALUE native_with(VALUE hash) {
    builder_options options = {Qnil, Qnil, Qnil, Qnil, Qnil};
    if (!NIL_P(hash)) rb_hash_foreach(hash, take_option, (VALUE)&options);
    long indent = plain_number(options.indent), margin = plain_number(options.margin);
    if (indent < 0 || margin < 0) return Qfalse;

    VALUE target = RTEST(options.target) ? options.target : new_target();
    VALUE self = builder_allocate(cNative);
    builder *b = RTYPEDDATA_DATA(self);
    b->indent = indent;
    b->level = margin;
    if (options.quote == sym_single) b->quote = '\'';
    RB_OBJ_WRITE(self, &b->explicit_nil, options.explicit_nil);
    RB_OBJ_WRITE(self, &b->target, target);
    return self;
}

/* Returns whether the options are a plain Hash without strict:. A Hash with a default value for
 * that key is not plain. */
static bool plain_hash_p(VALUE options) {
    return !RB_SPECIAL_CONST_P(options) && RBASIC_CLASS(options) == rb_cHash &&
           !RTEST(rb_hash_aref(options, sym_strict));
}

/*
 * call-seq: Builder.new(options = {}) -> Builder
 *
 * Returns a builder in C if the class is Builder itself (not a subclass), it has not been modified,
 * and the options are an ordinary Hash with ordinary values; otherwise one in Ruby.
 */
static VALUE builder_s_new(int argc, VALUE *argv, VALUE klass) {
    if (klass != cBuilder) return rb_class_new_instance_pass_kw(argc, argv, klass);
    if (enabled && argc <= 1) {
        VALUE self = Qfalse;
        if (!argc)
            self = native_with(Qnil);
        else if (plain_hash_p(argv[0]))
            self = native_with(argv[0]);
        if (self) return self;
    }
    return rb_funcallv_kw(klass, id_new_in_ruby, argc, argv,
                          rb_keyword_given_p() ? RB_PASS_KEYWORDS : RB_NO_KEYWORDS);
}

static VALUE native_s_enabled_set(VALUE self, VALUE flag) {
    enabled = RTEST(flag);
    return flag;
}

static VALUE native_s_enabled_p(VALUE self) {
    return enabled ? Qtrue : Qfalse;
}

static VALUE native_s_output_buffer_set(VALUE self, VALUE klass) {
    writer_set_output_buffer(klass);
    return klass;
}

static VALUE native_s_chunks_set(VALUE self, VALUE klass) {
    writer_set_chunks(klass);
    return klass;
}

/* call-seq: target! -> object */
static VALUE native_target(VALUE self) {
    const builder *b = builder_get(self);
    return b->in_ruby ? rb_call_super(0, NULL) : b->target;
}

/* call-seq: explicit_nil_handling? -> object */
static VALUE native_explicit_nil_p(VALUE self) {
    const builder *b = builder_get(self);
    return b->in_ruby ? rb_call_super(0, NULL) : b->explicit_nil;
}

/* call-seq: text!(text) -> object */
static VALUE native_text(int argc, VALUE *argv, VALUE self) {
    builder *b = builder_get(self);
    if (b->in_ruby) return rb_call_super(argc, argv);
    rb_check_arity(argc, 1, 1);
    writer w;
    writer_open(&w, b);
    writer_put_escaped(&w, writer_readable(&w, argv[0]), ESCAPE_TEXT);
    VALUE result = writer_end_fragment(&w);
    writer_close(&w);
    return result;
}

/* call-seq: self << markup -> object */
static VALUE native_append(int argc, VALUE *argv, VALUE self) {
    builder *b = builder_get(self);
    if (b->in_ruby) return rb_call_super(argc, argv);
    rb_check_arity(argc, 1, 1);
    writer w;
    writer_open(&w, b);
    VALUE result = writer_push(&w, argv[0]);
    writer_close(&w);
    return result;
}

/* Switches to the Ruby implementation before a method that can access its instance variables. */
static VALUE native_in_ruby(int argc, VALUE *argv, VALUE self) {
    builder_fall_back_to_ruby(self, builder_get(self));
    return rb_call_super(argc, argv);
}

/* Defines native_in_ruby for all private methods: Builder's, which write the output and may be
 * redefined on an object, and Ruby's, including singleton_method_added. */
static void define_ruby_methods(void) {
    VALUE private = rb_funcall(cBuilder, rb_intern("private_instance_methods"), 0);
    for (long i = 0; i < RARRAY_LEN(private); i++)
        rb_define_private_method(cNative, rb_id2name(SYM2ID(RARRAY_AREF(private, i))),
                                 native_in_ruby, -1);
    rb_define_method(cNative, "instance_eval", native_in_ruby, -1);
    rb_define_method(cNative, "instance_exec", native_in_ruby, -1);
}

static void builder_init(VALUE xml) {
    cBuilder = rb_const_get(xml, rb_intern("Builder"));
    rb_gc_register_mark_object(cBuilder);
    eIllegalBlock = rb_const_get(xml, rb_intern("IllegalBlockError"));
    rb_gc_register_mark_object(eIllegalBlock);
    id_new_in_ruby = rb_intern("new_in_ruby");
    sym_indent = ID2SYM(rb_intern("indent"));
    sym_margin = ID2SYM(rb_intern("margin"));
    sym_quote = ID2SYM(rb_intern("quote"));
    sym_single = ID2SYM(rb_intern("single"));
    sym_target = ID2SYM(rb_intern("target"));
    sym_nil_handling = ID2SYM(rb_intern("explicit_nil_handling"));
    sym_strict = ID2SYM(rb_intern("strict"));

    cNative = rb_define_class_under(cBuilder, "Native", cBuilder);
    rb_define_alloc_func(cNative, builder_allocate);
    rb_remove_method(rb_singleton_class(cBuilder), "new");
    rb_define_singleton_method(cBuilder, "new", builder_s_new, -1);
    rb_define_singleton_method(cNative, "enabled=", native_s_enabled_set, 1);
    rb_define_singleton_method(cNative, "enabled?", native_s_enabled_p, 0);
    rb_define_singleton_method(cNative, "output_buffer_class=", native_s_output_buffer_set, 1);
    rb_define_singleton_method(cNative, "chunks_class=", native_s_chunks_set, 1);
    rb_define_method(cNative, "target!", native_target, 0);
    rb_define_method(cNative, "explicit_nil_handling?", native_explicit_nil_p, 0);
    rb_define_method(cNative, "text!", native_text, -1);
    rb_define_method(cNative, "<<", native_append, -1);
    define_ruby_methods();
}

RUBY_FUNC_EXPORTED void Init_trunkline_xml(void) {
    rb_ext_ractor_safe(true);
    VALUE xml = rb_path2class("Trunkline::XML");
    escape_init(rb_const_get(xml, rb_intern("Escape")));
    writer_init();
    builder_init(xml);
    tag_init();
    markup_init();
    names_init();
}

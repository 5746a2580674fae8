#include "writer.h"
#include "number.h"

/* A tag's name, of one or two parts: prefix:local. */
typedef struct {
    const known_name *known; /* for a name of one part; prefix and local are Qfalse then */
    VALUE prefix;            /* a String, or Qfalse */
    VALUE local;             /* a String */
    VALUE symbol;            /* the whole name, or Qfalse: not made yet */
} tag_name;

typedef struct {
    VALUE self;
    builder *builder;
    tag_name name;
} element;

static ID id_to_sym, id_to_s, id_tag, id_bind_call, id_compare_by_identity_p, id_level, id_indent,
    id_end_tag, id_newline;
static VALUE base_tag, sym_nil, sym_respond_to, sym_respond_to_missing;

static bool clean_symbol_p(VALUE object) {
    return RB_SYMBOL_P(object) && escape_readable_p(rb_sym2str(object));
}

/* Determines the name as `tag!` does. `second`: the first argument if it is a Symbol, which is the
 * local part; else Qfalse. */
static tag_name name_of(VALUE name, VALUE second) {
    const known_name *known = !second && RB_SYMBOL_P(name) ? names_known(name) : NULL;
    if (known) return (tag_name){known, Qfalse, Qfalse, name};
    if (second && clean_symbol_p(name) && clean_symbol_p(second))
        return (tag_name){NULL, rb_sym2str(name), rb_sym2str(second), Qfalse};
    if (second) {
        VALUE whole = rb_enc_str_new(NULL, 0, rb_utf8_encoding());
        rb_str_append(whole, rb_obj_as_string(name));
        rb_str_cat(whole, ":", 1);
        name = rb_str_append(whole, rb_sym2str(second));
    }
    if (!RB_SYMBOL_P(name)) name = rb_funcall(name, id_to_sym, 0);
    return (tag_name){NULL, Qfalse, RB_SYMBOL_P(name) ? rb_sym2str(name) : rb_obj_as_string(name),
                      name};
}

static VALUE name_symbol(const tag_name *name) {
    if (name->symbol) return name->symbol;
    return rb_to_symbol(rb_sprintf("%" PRIsVALUE ":%" PRIsVALUE, name->prefix, name->local));
}

static void put_name(writer *w, const tag_name *name) {
    if (name->prefix) {
        writer_put_string(w, name->prefix);
        writer_put(w, ":");
    }
    writer_put_string(w, name->local);
}

static void put_end_tag(writer *w, const tag_name *name) {
    if (name->known) {
        buffer_put(&w->out, name->known->end_tag, name->known->size + 3);
    } else {
        writer_put(w, "</");
        put_name(w, name);
        writer_put(w, ">");
    }
    writer_end_fragment(w);
    writer_put_newline(w);
}

static void put_start_tag(writer *w, const tag_name *name, VALUE attributes) {
    writer_put_indent(w);
    if (name->known) {
        buffer_put(&w->out, name->known->start_tag, name->known->size + 1);
    } else {
        writer_put(w, "<");
        put_name(w, name);
    }
    writer_end_fragment(w);
    if (!NIL_P(attributes)) writer_put_attributes(w, attributes, NULL, 0);
}

static void finish_start_tag(writer *w) {
    writer_put(w, ">");
    writer_end_fragment(w);
}

static VALUE yield_inside(VALUE argument) {
    return rb_yield(((element *)argument)->self);
}

/* Ends an element inside which the builder has fallen back to Ruby, as Base#tag! does. */
static void close_in_ruby(const element *e) {
    VALUE level = rb_ivar_get(e->self, id_level);
    rb_ivar_set(e->self, id_level, rb_funcall(level, '-', 1, INT2FIX(1)));
    rb_funcall(e->self, id_indent, 0);
    rb_funcall(e->self, id_end_tag, 1, name_symbol(&e->name));
    rb_funcall(e->self, id_newline, 0);
}

/* Ends the element; runs also when the block raises or is left. */
static VALUE close_element(VALUE argument) {
    element *e = (element *)argument;
    if (e->builder->in_ruby) {
        close_in_ruby(e);
        return Qnil;
    }
    e->builder->level--;
    writer w;
    writer_open(&w, e->builder);
    writer_put_indent(&w);
    put_end_tag(&w, &e->name);
    writer_close(&w);
    return Qnil;
}

static void write_element(VALUE self, builder *b, const tag_name *name, VALUE attributes) {
    writer w;
    writer_open(&w, b);
    put_start_tag(&w, name, attributes);
    finish_start_tag(&w);
    writer_put_newline(&w);
    writer_close(&w);

    element e = {self, b, *name};
    builder_descend(self, b);
    rb_ensure(yield_inside, (VALUE)&e, close_element, (VALUE)&e);
}

static void write_leaf(const builder *b, const tag_name *name, VALUE text, VALUE attributes) {
    writer w;
    writer_open(&w, b);
    put_start_tag(&w, name, attributes);
    if (!text) {
        writer_put(&w, "/");
        writer_end_fragment(&w);
        finish_start_tag(&w);
        writer_put_newline(&w);
    } else {
        finish_start_tag(&w);
        writer_put_escaped(&w, writer_readable(&w, text), ESCAPE_TEXT);
        writer_end_fragment(&w);
        put_end_tag(&w, name);
    }
    writer_close(&w);
}

static VALUE to_s(VALUE argument) {
    if (!RB_SPECIAL_CONST_P(argument)) {
        if (RBASIC_CLASS(argument) == rb_cString) return argument;
    } else {
        char digits[NUMBER_SIZE];
        size_t size = number_digits(argument, digits);
        if (size) return rb_usascii_str_new(digits, (long)size);
    }
    return rb_funcall(argument, id_to_s, 0);
}

/* Does `"" << first << second`, for which Ruby checks the encodings. A single readable text is used
 * without a copy. */
static VALUE join_text(const builder *b, VALUE text, VALUE argument) {
    VALUE string = to_s(argument);
    if (!text) {
        bool clean = RB_TYPE_P(string, T_STRING) && escape_readable_p(string);
        if (clean && string != b->target) return string;
        text = rb_enc_str_new(NULL, 0, rb_utf8_encoding());
    } else {
        text = rb_str_append(rb_enc_str_new(NULL, 0, rb_utf8_encoding()), text);
    }
    return rb_str_concat(text, string);
}

/* Returns whether the Hash compares keys by identity. It may then contain equal keys, which are one
 * attribute. */
static bool by_identity_p(VALUE hash) {
    return RHASH_SIZE(hash) > 1 && RTEST(rb_funcall(hash, id_compare_by_identity_p, 0));
}

static VALUE merge(VALUE attributes, VALUE hash) {
    VALUE merged = rb_hash_new();
    if (!NIL_P(attributes)) rb_hash_update_by(merged, attributes, NULL);
    if (!NIL_P(hash)) rb_hash_update_by(merged, hash, NULL);
    return merged;
}

/* Writes the element with Base#tag!, when an argument's to_s has made the builder fall back to
 * Ruby. Does not call tag! by name, because the object may have another method of that name. */
static void write_in_ruby(VALUE self, const tag_name *name, VALUE text, VALUE attributes) {
    VALUE arguments[4] = {self, name_symbol(name)};
    int count = 2;
    if (text) arguments[count++] = text;
    if (!NIL_P(attributes)) arguments[count++] = attributes;
    rb_funcall_passing_block(base_tag, id_bind_call, count, arguments);
}

/* Implements `tag!(name, *argv)`. */
static VALUE tag_call(VALUE self, VALUE name, int argc, const VALUE *argv) {
    builder *b = builder_get(self);
    VALUE second = Qfalse, text = Qfalse, attributes = Qnil;

    if (argc > 0 && RB_SYMBOL_P(argv[0])) {
        second = argv[0];
        argc--;
        argv++;
    }
    tag_name tag = name_of(name, second);
    for (int i = 0; i < argc; i++) {
        if (RB_TYPE_P(argv[i], T_HASH)) {
            bool single = NIL_P(attributes) && !by_identity_p(argv[i]);
            attributes = single ? argv[i] : merge(attributes, argv[i]);
        } else if (!NIL_P(argv[i])) {
            text = join_text(b, text, argv[i]);
        } else if (RTEST(b->explicit_nil)) {
            attributes = merge(attributes, Qnil);
            rb_hash_aset(attributes, sym_nil, Qtrue);
        }
    }
    bool block = rb_block_given_p();
    if (block && text) rb_raise(rb_eArgError, "XmlMarkup cannot mix a text argument with a block");
    if (RB_UNLIKELY(b->in_ruby))
        write_in_ruby(self, &tag, text, attributes);
    else if (!block)
        write_leaf(b, &tag, text, attributes);
    else
        write_element(self, b, &tag, attributes);
    RB_GC_GUARD(attributes);
    return b->target;
}

VALUE tag_write(VALUE self, VALUE symbol, int argc, const VALUE *argv) {
    if (RB_UNLIKELY(builder_get(self)->in_ruby)) {
        VALUE arguments = rb_ary_new_from_values(argc, argv);
        rb_ary_unshift(arguments, symbol);
        return rb_funcall_passing_block(self, id_tag, argc + 1, RARRAY_CONST_PTR(arguments));
    }
    return tag_call(self, symbol, argc, argv);
}

/*
 * call-seq: tag!(name, *texts_and_attributes) { |xml| } -> target
 *
 * Base#tag! in C; see there.
 */
static VALUE native_tag(int argc, VALUE *argv, VALUE self) {
    if (builder_get(self)->in_ruby) return rb_call_super(argc, argv);
    rb_check_arity(argc, 1, UNLIMITED_ARGUMENTS);
    return tag_call(self, argv[0], argc - 1, argv + 1);
}

/* Ruby itself calls respond_to? and respond_to_missing? if a builder has such methods. The Builder
 * gem defines them on an object that has used them as tags. To do the same, the native builder
 * falls back to Ruby. */
static VALUE native_method_missing(int argc, VALUE *argv, VALUE self) {
    builder *b = builder_get(self);
    rb_check_arity(argc, 1, UNLIMITED_ARGUMENTS);
    VALUE name = argv[0];
    /* A caller may pass a String as the name; it is converted only for the cache of methods. */
    if (RB_UNLIKELY(!RB_SYMBOL_P(name)) && names_caching_p()) name = rb_to_symbol(name);
    if (name == sym_respond_to || name == sym_respond_to_missing)
        builder_fall_back_to_ruby(self, b);
    if (b->in_ruby) return rb_call_super(argc, argv);
    if (RB_SYMBOL_P(name)) names_define_method(name);
    return tag_call(self, argv[0], argc - 1, argv + 1);
}

/*
 * call-seq: Native.write_lines(xml, lines) -> target or false
 *
 * Writes a template's precompiled lines, separated by NUL, each with the current indentation of
 * +xml+. Returns false and writes nothing when +xml+ is not a native builder or has fallen
 * back to Ruby.
 */
static VALUE native_s_write_lines(VALUE klass, VALUE xml, VALUE lines) {
    const builder *b = builder_find(xml);
    StringValue(lines);
    if (!b || b->in_ruby) return Qfalse;
    const char *at = RSTRING_PTR(lines), *end = RSTRING_END(lines);
    bool ascii = rb_enc_str_coderange(lines) == ENC_CODERANGE_7BIT;
    writer w;
    writer_open(&w, b);
    while (at <= end) {
        const char *stop = memchr(at, '\0', (size_t)(end - at));
        if (!stop) stop = end;
        writer_put_indent(&w);
        if (!ascii) buffer_note_utf8(&w.out);
        buffer_put(&w.out, at, (size_t)(stop - at));
        writer_end_fragment(&w);
        writer_put_newline(&w);
        at = stop + 1;
    }
    writer_close(&w);
    RB_GC_GUARD(lines);
    return b->target;
}

void tag_init(void) {
    id_to_sym = rb_intern("to_sym");
    id_to_s = rb_intern("to_s");
    id_tag = rb_intern("tag!");
    id_bind_call = rb_intern("bind_call");
    id_compare_by_identity_p = rb_intern("compare_by_identity?");
    id_level = rb_intern("@level");
    id_indent = rb_intern("_indent");
    id_end_tag = rb_intern("_end_tag");
    id_newline = rb_intern("_newline");
    sym_nil = ID2SYM(rb_intern("nil"));
    sym_respond_to = ID2SYM(rb_intern("respond_to?"));
    sym_respond_to_missing = ID2SYM(rb_intern("respond_to_missing?"));

    base_tag = rb_funcall(cBuilder, rb_intern("instance_method"), 1, ID2SYM(id_tag));
    rb_gc_register_mark_object(base_tag);

    rb_define_singleton_method(cNative, "write_lines", native_s_write_lines, 2);
    rb_define_method(cNative, "tag!", native_tag, -1);
    rb_define_method(cNative, "method_missing", native_method_missing, -1);
}

#include "request_builder_internal.h"

/* The options of one call, and the check whether a Hash has only such options. */

static ID option_ids[13], id_refuse_option;
static const char *const option_names[] = {"headers",     "params",   "bearer",  "basic", "follow",
                                           "early_hints", "stream",   "body",    "json",  "form",
                                           "multipart",   "progress", "template"};
#define OPTIONS (sizeof(option_names) / sizeof(option_names[0]))

static VALUE *option_slot(building *g, VALUE key) {
    VALUE *const slots[OPTIONS] = {&g->headers, &g->params,      &g->bearer,    &g->basic,
                                   &g->follow,  &g->early_hints, &g->stream,    &g->body,
                                   &g->json,    &g->form,        &g->multipart, &g->progress,
                                   &g->template};
    for (size_t i = 0; SYMBOL_P(key) && i < OPTIONS; i++)
        if (key == ID2SYM(option_ids[i])) return slots[i];
    return NULL;
}

int building_take_option(VALUE key, VALUE value, VALUE argument) {
    building *g = (building *)argument;
    VALUE *slot = option_slot(g, key);
    if (slot == NULL)
        rb_funcall(g->self, id_refuse_option, 1, key);
    else
        *slot = value;
    return ST_CONTINUE;
}

/* Returns whether the value may be callable; it is then computed for each request (AttemptValues).
 */
static bool may_be_callable(VALUE value) {
    if (SPECIAL_CONST_P(value)) return false;
    switch (BUILTIN_TYPE(value)) {
    case T_STRING:
    case T_SYMBOL:
    case T_ARRAY:
    case T_FLOAT:
    case T_BIGNUM: return false;
    default: return true;
    }
}

static int find_callable(VALUE name, VALUE value, VALUE found) {
    (void)name;
    *(bool *)found = may_be_callable(value);
    return *(bool *)found ? ST_STOP : ST_CONTINUE;
}

/* Returns whether the option may have to be computed for each request. For headers: that are an
 * Array, Ruby must decide. */
static bool computed_for_each_attempt(VALUE key, VALUE value) {
    bool found = false;
    if (key == ID2SYM(option_ids[2]) || key == ID2SYM(option_ids[3])) return may_be_callable(value);
    if (key != ID2SYM(option_ids[0]) || NIL_P(value)) return false;
    if (!RB_TYPE_P(value, T_HASH)) return RB_TYPE_P(value, T_ARRAY);
    rb_hash_foreach(value, find_callable, (VALUE)&found);
    return found;
}

static int find_other(VALUE key, VALUE value, VALUE found) {
    building unused;
    if (option_slot(&unused, key) != NULL && !computed_for_each_attempt(key, value))
        return ST_CONTINUE;
    *(bool *)found = true;
    return ST_STOP;
}

/* call-seq: RequestBuilder.per_call?(options) -> bool
 *
 * Returns whether all options are options of a call, and none may have to be computed for each
 * request. */
static VALUE builder_s_per_call_p(VALUE class, VALUE options) {
    bool other = false;
    (void)class;
    Check_Type(options, T_HASH);
    rb_hash_foreach(options, find_other, (VALUE)&other);
    return other ? Qfalse : Qtrue;
}

void building_options_init(VALUE cBuilder) {
    id_refuse_option = rb_intern("refuse_option");
    for (size_t i = 0; i < OPTIONS; i++) option_ids[i] = rb_intern(option_names[i]);
    rb_define_singleton_method(cBuilder, "per_call?", builder_s_per_call_p, 1);
}

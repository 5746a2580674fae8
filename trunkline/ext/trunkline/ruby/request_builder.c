#include "request_builder_internal.h"

#include "protocol/http1/http1.h"

#include <string.h>

/*
 * Trunkline::RequestBuilder: makes requests from the arguments of callers. Usual arguments are
 * checked and composed here; all others are passed to the methods of
 * lib/trunkline/request_builder.rb, which check them, or raise. Ruby code is called only before the
 * fields are listed, because the list points into Strings.
 */

static ID id_buffered, id_streamed, id_upgrade, id_open_tunnel, id_encode_params, id_check_headers,
    id_check_method, id_content_of, id_generate_json, id_authorization, id_check_option,
    id_check_hints, id_check_progress, id_refuse_length, id_refuse_without_timeout, id_length;

/* ---- the object ---- */

static void builder_mark(void *data) {
    const builder *b = data;
    const VALUE members[] = {b->config,      b->params,    b->query,       b->base,
                             b->base_origin, b->base_path, b->base_folder, b->base_target,
                             b->early_hints, b->follow};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) rb_gc_mark(members[i]);
    origin_table_mark(&b->origins);
}

static void builder_free(void *data) {
    builder *b = data;
    origin_table_free(&b->origins);
    free(b->fields);
    free(b->strings);
    ruby_xfree(b);
}

static size_t builder_size(const void *data) {
    const builder *b = data;
    return sizeof(*b) + b->field_count * sizeof(*b->fields) + origin_table_size(&b->origins);
}

static const rb_data_type_t builder_type = {
    .wrap_struct_name = "Trunkline::RequestBuilder",
    .function = {.dmark = builder_mark, .dfree = builder_free, .dsize = builder_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE builder_s_allocate(VALUE class) {
    builder *b;
    VALUE self = TypedData_Make_Struct(class, builder, &builder_type, b);
    b->config = b->params = b->query = b->base = b->base_origin = b->base_target = b->base_path =
        b->base_folder = b->early_hints = b->follow = Qnil;
    return self;
}

static builder *builder_get(VALUE self) {
    builder *b = engine_data(self, &builder_type);
    if (!b->complete) rb_raise(rb_eArgError, "the request builder was not initialized");
    return b;
}

/* call-seq: _prepare(config, fields, unbound, facts) -> self
 *
 * facts: params:, query:, base:, base_target:, base_path:, base_folder:, early_hints:, follow:,
 * decode:, expect_above: */
static VALUE builder_prepare(VALUE self, VALUE config, VALUE fields, VALUE unbound, VALUE facts) {
    builder *b = rb_check_typeddata(self, &builder_type);
    engine_begin_once(self, &b->begun);
    if (!NIL_P(config)) config_get(config);
    b->config = config;
    b->params = engine_fetch(facts, "params");
    b->query = engine_fetch(facts, "query");
    Check_Type(b->query, T_STRING);
    b->base = engine_fetch(facts, "base");
    b->base_target = engine_fetch(facts, "base_target");
    b->base_path = engine_fetch(facts, "base_path");
    b->base_folder = engine_fetch(facts, "base_folder");
    if (!NIL_P(b->base_target)) {
        Check_Type(b->base_target, T_STRING);
        Check_Type(b->base_path, T_STRING);
        Check_Type(b->base_folder, T_STRING);
    }
    b->early_hints = engine_fetch(facts, "early_hints");
    b->follow = engine_fetch(facts, "follow");
    b->decode = RTEST(engine_fetch(facts, "decode"));
    VALUE expect_above = engine_fetch(facts, "expect_above");
    b->expect_above = NIL_P(expect_above) ? -1 : NUM2LL(expect_above);
    builder_take_fields(b, fields, unbound);
    b->complete = true;
    return self;
}

/* ---- the arguments of a request ---- */

static VALUE call_builder(const building *g, ID method, VALUE argument) {
    return rb_funcall(g->self, method, 1, argument);
}

static building begin_building(VALUE self) {
    return (building){.self = self,
                      .b = builder_get(self),
                      .headers = Qundef,
                      .params = Qundef,
                      .bearer = Qundef,
                      .basic = Qundef,
                      .follow = Qundef,
                      .early_hints = Qundef,
                      .stream = Qundef,
                      .body = Qundef,
                      .json = Qundef,
                      .form = Qundef,
                      .multipart = Qundef,
                      .progress = Qundef,
                      .template = Qundef,
                      .origin = Qnil,
                      .uri = Qnil,
                      .target = Qnil,
                      .path = Qnil,
                      .userinfo = Qnil,
                      .method = Qnil,
                      .query = Qnil,
                      .content = Qnil,
                      .content_type = Qnil,
                      .authorization = Qnil};
}

static void take_options(building *g, VALUE options) {
    if (!NIL_P(options)) {
        Check_Type(options, T_HASH);
        rb_hash_foreach(options, building_take_option, (VALUE)g);
    }
}

static bool was_given(VALUE option) {
    return option != Qundef && !NIL_P(option);
}

/* ---- query, content, method and credentials ---- */

/* `room`: memory for params of usual kinds, which must outlive the building. */
static void take_params(building *g, request_params *room) {
    g->query = g->b->query;
    if (!was_given(g->params)) return;
    g->usual_params = params_take(room, g->b->params, g->params) ? room : NULL;
    if (g->usual_params == NULL) {
        g->query = call_builder(g, id_encode_params, g->params);
        StringValue(g->query);
    } else {
        g->query = Qnil;
    }
}

static void take_content(building *g, VALUE options) {
    int kinds =
        (g->json != Qundef) + was_given(g->body) + was_given(g->form) + was_given(g->multipart);
    g->has_content = kinds > 0;
    if (kinds == 1 && g->json != Qundef) {
        g->is_json = true;
        g->content = rb_obj_freeze(call_builder(g, id_generate_json, g->json));
    } else if (kinds == 1 && was_given(g->body) && RB_TYPE_P(g->body, T_STRING)) {
        g->content = rb_str_new_frozen(g->body);
    } else if (kinds > 0) {
        VALUE content = call_builder(g, id_content_of, options);
        g->content = rb_ary_entry(content, 0);
        g->content_type = rb_ary_entry(content, 1);
        g->is_multipart = RTEST(rb_ary_entry(content, 2));
        g->content = RB_TYPE_P(g->content, T_STRING) ? rb_str_new_frozen(g->content) : g->content;
    }
}

static int64_t length_of(VALUE content) {
    if (NIL_P(content)) return 0;
    if (RB_TYPE_P(content, T_STRING)) return RSTRING_LEN(content);
    VALUE length = rb_funcall(content, id_length, 0);
    return NIL_P(length) ? -1 : NUM2LL(length);
}

static bool is_text(VALUE string, const char *text) {
    return (size_t)RSTRING_LEN(string) == strlen(text) &&
           memcmp(RSTRING_PTR(string), text, strlen(text)) == 0;
}

static void take_method(building *g, VALUE method) {
    bool usual = RB_TYPE_P(method, T_STRING) && is_ascii_compatible(method) &&
                 http1_name_valid(RSTRING_PTR(method), (size_t)RSTRING_LEN(method)) &&
                 !is_text(method, "CONNECT") && !(g->has_content && is_text(method, "TRACE"));
    if (!usual) {
        method = rb_funcall(g->self, id_check_method, 2, method, g->has_content ? Qtrue : Qfalse);
        StringValue(method);
    }
    g->method = rb_str_new_frozen(method);
}

static void take_authorization(building *g) {
    if (was_given(g->bearer) || was_given(g->basic)) {
        VALUE bearer = g->bearer == Qundef ? Qnil : g->bearer;
        VALUE basic = g->basic == Qundef ? Qnil : g->basic;
        g->authorization = rb_funcall(g->self, id_authorization, 2, bearer, basic);
        StringValue(g->authorization);
    }
}

/* ---- composing ---- */

static VALUE composed(request_object *r, VALUE self, const building *g, composition *c) {
    int64_t declared = 0;
    switch (request_compose(r, c, &declared)) {
    case COMPOSED: break;
    case COMPOSE_NO_MEMORY: rb_memerror();
    case COMPOSE_LENGTH:
        rb_funcall(g->self, id_refuse_length, 2, LL2NUM(declared), LL2NUM(c->content_length));
        break;
    case COMPOSE_INVALID:
        /* The message shows neither, because a target may contain credentials. */
        errors_invalid("the method or the target is none that HTTP allows (RFC 9112 3)");
    }
    RB_OBJ_WRITE(self, &r->origin, g->origin);
    RB_OBJ_WRITE(self, &r->builder, g->self);
    RB_OBJ_WRITE(self, &r->method, g->method);
    RB_OBJ_WRITE(self, &r->content, g->content);
    RB_OBJ_WRITE(self, &r->uri, c->query_length == 0 ? g->uri : Qnil);
    return rb_obj_freeze(self);
}

static VALUE compose(building *g, request_object *r, VALUE self, field_list *l) {
    composition c = {.origin = origin_get(g->origin),
                     .method = RSTRING_PTR(g->method),
                     .method_length = (size_t)RSTRING_LEN(g->method),
                     .fields = l->at,
                     .field_count = l->count,
                     .decode = g->b->decode,
                     .expect_above = g->b->expect_above,
                     .has_content = g->has_content,
                     .upgrades = r->upgrades,
                     .content_length = r->content_length};
    building_fill_target(&c, g);
    return composed(r, self, g, &c);
}

static uint32_t fields_needed(const building *g, VALUE checked) {
    size_t own = !NIL_P(checked)        ? (size_t)RARRAY_LEN(checked)
                 : g->headers != Qundef ? RHASH_SIZE(g->headers)
                                        : 0;
    return (uint32_t)(g->b->field_count + own + 4);
}

/* Lists the fields and composes the request. If there are too many fields, or some are unusual,
 * lists them again after Ruby has checked them. */
static VALUE list_and_compose(building *g, request_object *r, VALUE self) {
    request_field usual[USUAL_FIELDS];
    char digits[USUAL_NUMBERS][DIGITS];
    field_list list = {.at = usual, .digits = digits};
    bool plain = g->headers == Qundef || RB_TYPE_P(g->headers, T_HASH);
    if (plain && fields_needed(g, Qnil) <= USUAL_FIELDS) {
        list_fields(&list, g, Qnil);
        if (!list.unusual) return compose(g, r, self, &list);
    }
    VALUE none = rb_ary_new(),
          checked = g->headers == Qundef ? none : call_builder(g, id_check_headers, g->headers);
    Check_Type(checked, T_ARRAY);
    VALUE room;
    list.at = ALLOCV_N(request_field, room, fields_needed(g, checked));
    list_fields(&list, g, checked);
    VALUE request = compose(g, r, self, &list);
    ALLOCV_END(room);
    RB_GC_GUARD(checked);
    return request;
}

/* ---- entries ---- */

static VALUE check_option(const building *g, const char *name, VALUE value) {
    return rb_funcall(g->self, id_check_option, 2, ID2SYM(rb_intern(name)), value);
}

static VALUE follow_of(const building *g) {
    if (g->follow == Qundef) return g->b->follow;
    bool usual = FIXNUM_P(g->follow) && FIX2LONG(g->follow) >= 1 && FIX2LONG(g->follow) <= 1000;
    return usual ? g->follow : check_option(g, "follow", g->follow);
}

typedef enum { MODE_BUFFERED, MODE_STREAMED, MODE_UPGRADE } response_mode;

static response_mode mode_of(VALUE mode) {
    if (mode == ID2SYM(id_buffered)) return MODE_BUFFERED;
    if (mode == ID2SYM(id_streamed)) return MODE_STREAMED;
    if (mode == ID2SYM(id_upgrade)) return MODE_UPGRADE;
    rb_raise(rb_eArgError, "the mode must be :buffered, :streamed or :upgrade");
}

static bool streaming_of(const building *g, response_mode mode) {
    if (g->stream != Qundef && g->stream != Qtrue && g->stream != Qfalse)
        check_option(g, "stream", g->stream);
    return mode == MODE_STREAMED || g->stream == Qtrue;
}

static VALUE progress_of(const building *g) {
    VALUE has_content = g->has_content ? Qtrue : Qfalse;
    return rb_funcall(g->self, id_check_progress, 2, g->progress, has_content);
}

/* Uses a tunnel through a proxy that would otherwise receive the request itself (RFC 6455 4.1). */
static void take_tunnel(building *g) {
    const origin_object *o = origin_get(g->origin);
    if (o->absolute_form) g->origin = rb_funcall(g->self, id_open_tunnel, 1, o->url);
    origin_get(g->origin);
}

/* call-seq: build(method, location, options, mode) -> Request
 *
 * See lib/trunkline/request_builder.rb. */
static VALUE builder_build(VALUE self, VALUE method, VALUE location, VALUE options,
                           VALUE mode_name) {
    request_params params;
    building g = begin_building(self);
    response_mode mode = mode_of(mode_name);
    if (NIL_P(g.b->config)) rb_funcall(self, id_refuse_without_timeout, 0);
    take_options(&g, options);
    building_set_destination(&g, location);
    if (mode == MODE_UPGRADE) take_tunnel(&g);
    take_params(&g, &params);
    take_content(&g, options);
    take_method(&g, method);
    take_authorization(&g);
    request_object *r;
    VALUE request = request_allocate(&r);
    r->upgrades = mode == MODE_UPGRADE;
    r->streaming = !r->upgrades && streaming_of(&g, mode);
    RB_OBJ_WRITE(request, &r->follow, follow_of(&g));
    RB_OBJ_WRITE(request, &r->early_hints,
                 g.early_hints == Qundef ? g.b->early_hints
                                         : call_builder(&g, id_check_hints, g.early_hints));
    if (was_given(g.progress)) RB_OBJ_WRITE(request, &r->progress, progress_of(&g));
    if (g.template != Qundef)
        RB_OBJ_WRITE(request, &r->template, check_option(&g, "template", g.template));
    r->content_length = length_of(g.content);
    request = list_and_compose(&g, r, request);
    RB_GC_GUARD(location);
    return request;
}

/* call-seq: next_unusual(locations, from) -> index or nil
 *
 * Returns the index of the next location for which the building of a GET without options may call
 * Ruby, and so may raise. */
static VALUE builder_next_unusual(VALUE self, VALUE locations, VALUE from) {
    building g = begin_building(self);
    long at = NUM2LONG(from);
    Check_Type(locations, T_ARRAY);
    while (at >= 0 && at < RARRAY_LEN(locations)) {
        VALUE location = RARRAY_AREF(locations, at);
        bool usual = RB_TYPE_P(location, T_STRING) && !NIL_P(g.b->config);
        g.origin = Qnil;
        g.origin_length = 0;
        if (!usual || !building_set_usual_destination(&g, location)) return LONG2NUM(at);
        at++;
    }
    return Qnil;
}

/* call-seq: rebuild(request, method, url, pairs, with_content) -> Request
 *
 * Returns a request that follows one that was sent. `pairs`: all of its fields, except those that
 * frame the content. */
static VALUE builder_rebuild(VALUE self, VALUE request, VALUE method, VALUE url, VALUE pairs,
                             VALUE with_content) {
    building g = begin_building(self);
    const request_object *from = request_get(request);
    Check_Type(pairs, T_ARRAY);
    if (NIL_P(from->origin)) rb_raise(rb_eArgError, "the request was not composed by a builder");
    building_set_destination_url(&g, url);
    g.has_content = RTEST(with_content) && !NIL_P(from->content);
    g.content = g.has_content ? from->content : Qnil;
    take_method(&g, method);
    request_object *r;
    VALUE object = request_allocate(&r);
    r->streaming = from->streaming;
    r->upgrades = from->upgrades;
    RB_OBJ_WRITE(object, &r->follow, from->follow);
    RB_OBJ_WRITE(object, &r->early_hints, from->early_hints);
    if (g.has_content) RB_OBJ_WRITE(object, &r->progress, from->progress);
    RB_OBJ_WRITE(object, &r->template, from->template);
    r->content_length = length_of(g.content);
    VALUE room;
    field_list list = {.at = ALLOCV_N(request_field, room, (size_t)RARRAY_LEN(pairs) + 1)};
    list_pairs(&list, pairs);
    object = compose(&g, r, object, &list);
    ALLOCV_END(room);
    RB_GC_GUARD(request);
    return object;
}

/* call-seq: raw(method, url, target, fields, content, length, streaming) -> Request
 *
 * See lib/trunkline/request_builder.rb. */
static VALUE builder_raw(VALUE self, VALUE method, VALUE url, VALUE target, VALUE fields,
                         VALUE content, VALUE length, VALUE streaming) {
    building g = begin_building(self);
    Check_Type(method, T_STRING);
    Check_Type(target, T_STRING);
    Check_Type(fields, T_ARRAY);
    building_set_destination_url(&g, url);
    g.target = target;
    g.method = rb_str_new_frozen(method);
    g.content = RB_TYPE_P(content, T_STRING) ? rb_str_new_frozen(content) : content;
    request_object *r;
    VALUE request = request_allocate(&r);
    r->streaming = RTEST(streaming);
    composition c = {.origin = origin_get(g.origin), .raw = true, .content_length = NUM2LL(length)};
    VALUE room;
    field_list list = {.at = ALLOCV_N(request_field, room, (size_t)RARRAY_LEN(fields) / 2 + 1)};
    for (long i = 0; i + 1 < RARRAY_LEN(fields); i += 2)
        list_pair(&list, RARRAY_AREF(fields, i), RARRAY_AREF(fields, i + 1));
    c.fields = list.at;
    c.field_count = list.count;
    c.method = RSTRING_PTR(g.method);
    c.method_length = (size_t)RSTRING_LEN(g.method);
    c.path = c.query = "";
    c.target = RSTRING_PTR(target);
    c.target_length = (size_t)RSTRING_LEN(target);
    request = composed(r, request, &g, &c);
    ALLOCV_END(room);
    RB_GC_GUARD(fields);
    return request;
}

static void intern_names(void) {
    id_encode_params = rb_intern("encode_params");
    id_buffered = rb_intern("buffered");
    id_streamed = rb_intern("streamed");
    id_upgrade = rb_intern("upgrade");
    id_open_tunnel = rb_intern("open_tunnel");
    id_check_headers = rb_intern("check_headers");
    id_check_method = rb_intern("check_method");
    id_content_of = rb_intern("content_of");
    id_generate_json = rb_intern("generate_json");
    id_authorization = rb_intern("authorization");
    id_check_option = rb_intern("check_option");
    id_check_hints = rb_intern("check_hints");
    id_check_progress = rb_intern("check_progress");
    id_refuse_length = rb_intern("refuse_length");
    id_refuse_without_timeout = rb_intern("refuse_without_timeout");
    id_length = rb_intern("length");
}

void request_builder_init(void) {
    intern_names();
    building_url_init();
    VALUE cBuilder = rb_define_class_under(mTrunkline, "RequestBuilder", rb_cObject);
    rb_define_alloc_func(cBuilder, builder_s_allocate);
    building_options_init(cBuilder);
    rb_define_private_method(cBuilder, "_prepare", builder_prepare, 4);
    rb_define_method(cBuilder, "build", builder_build, 4);
    rb_define_method(cBuilder, "next_unusual", builder_next_unusual, 2);
    rb_define_method(cBuilder, "rebuild", builder_rebuild, 5);
    rb_define_method(cBuilder, "raw", builder_raw, 7);
}

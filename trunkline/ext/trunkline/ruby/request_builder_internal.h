#ifndef TRUNKLINE_RUBY_REQUEST_BUILDER_INTERNAL_H
#define TRUNKLINE_RUBY_REQUEST_BUILDER_INTERNAL_H

#include "origin_table.h"
#include "request.h"

/* What the files of Trunkline::RequestBuilder share: request_builder.c (the object, and what is
 * built), request_builder_url.c (where a request goes), request_builder_fields.c (its fields). */

/* ---- the object ---- */

typedef struct {
    request_field field; /* its texts lie in `strings` */
    bool own;            /* the caller named it: json: and form: do not replace it */
} client_field;

typedef struct {
    VALUE config;      /* Engine::Config; nil: there is no timeout, and nothing can be built */
    VALUE params;      /* the client's, or nil */
    VALUE query;       /* these, encoded; "" for none */
    VALUE base;        /* URL, or nil */
    VALUE base_origin; /* nil until it is needed */
    VALUE base_target; /* path and query; nil: relative references are Ruby's to resolve */
    VALUE base_path, base_folder;
    VALUE early_hints, follow;
    client_field *fields; /* owned; those that are for the client's own origin alone come last */
    uint32_t field_count, unbound_count;
    char *strings;        /* owned */
    int64_t expect_above; /* -1: 100 (Continue) is never asked for */
    bool decode, begun, complete;
    origin_table origins;
} builder;

/* ---- one request that is being built ---- */

/* Lies on the stack, where the collector finds its values. Qundef: the option was not given. */
typedef struct {
    VALUE self;
    builder *b;
    /* options */
    VALUE headers, params, bearer, basic, follow, early_hints, stream, body, json, form, multipart,
        progress, template;
    /* where it goes */
    VALUE origin, uri, target, path;
    size_t origin_length; /* of an absolute URL in ->target; 0: it has no origin */
    VALUE userinfo;       /* the value of Authorization that the URL's userinfo makes, or nil */
    /* what it carries */
    VALUE method, query, content, content_type, authorization;
    bool is_json, is_multipart, has_content;
    request_params *usual_params; /* borrowed; NULL: there are none, or they are in `query` */
} building;

/* ---- request_builder_url.c ---- */

/* Finds origin, target, path, uri and userinfo of the location that a caller gave. Raises
 * InvalidRequest. */
void building_place(building *g, VALUE location);

/* The same of a URL. */
void building_place_url(building *g, VALUE url);

/* As building_place, without calling Ruby. False: the URL class must resolve the location. */
bool building_place_usual(building *g, VALUE location);

/* Fills in path, target and query of `c`, which borrows them. */
void building_fill_target(composition *c, const building *g);

void building_url_init(void);

/* ---- request_builder_options.c ---- */

/* For rb_hash_foreach: puts an option of a call into the building that `argument` points to. Raises
 * for one that is none. */
int building_take_option(VALUE key, VALUE value, VALUE argument);

void building_options_init(VALUE cBuilder);

/* ---- request_builder_fields.c ---- */

enum { GROUP_CLIENT, GROUP_URL, GROUP_CONTENT, GROUP_CALL, GROUP_CREDENTIALS };

#define USUAL_FIELDS 24
#define USUAL_NUMBERS 6

/* Copies the client's own fields. `pairs`: [name, value or nil, whether the caller named it] of
 * each; those from `unbound` on are for the client's own origin alone. Raises. */
void builder_take_fields(builder *b, VALUE pairs, VALUE unbound);

/* The fields of a request, in the order of their groups. The list is the caller's; it borrows all
 * texts. */
typedef struct {
    request_field *at;
    uint32_t count;
    char (*digits)[DIGITS]; /* for numbers; NULL: all are Strings, and were checked */
    uint32_t numbers;
    bool skips_type; /* the multipart body has a boundary, which the caller does not know */
    bool unusual;
} field_list;

/* Lists the fields of a request. `checked`: the call's headers as pairs that Ruby has checked; nil:
 * they are as they were given, and ->unusual says whether Ruby must check them. */
void list_fields(field_list *l, const building *g, VALUE checked);

/* Lists pairs of Strings (the value may be nil) alone. Raises InvalidRequest for what cannot be
 * sent. */
void list_pairs(field_list *l, VALUE pairs);

/* Adds one of these pairs. */
void list_pair(field_list *l, VALUE name, VALUE value);

#endif

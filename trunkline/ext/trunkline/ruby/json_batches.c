#include "json_values.h"

#include "protocol/json/json_scanner.h"

/*
 * Engine::JSONBatches: the wanted values of a JSON stream. They are read here and yielded. Values
 * that JSON.parse must read are returned in batches: copied into one String as a JSON array, so
 * that one call of JSON.parse reads all of them. The position of each is kept until the next batch.
 */

/* The most values in a batch, and the most bytes scanned in one call, during which the GVL is held.
 */
#define BATCH_VALUES 1024
#define FEED_BYTES (128 * 1024)

typedef struct {
    const uint8_t *bytes; /* owned by the scanner, valid until it is fed */
    size_t from, length;  /* in the String */
    uint64_t byte, line;  /* in the stream */
} taken_value;

typedef struct {
    json_scanner scanner;
    taken_value *taken;  /* owned; BATCH_VALUES of them */
    uint64_t *positions; /* owned; `levels` for each of `taken` */
    size_t levels;
    size_t count;
    json_values values;
} json_batches;

static void json_batches_mark(void *data) {
    const json_batches *b = data;
    json_values_mark(&b->values);
}

static void json_batches_free(void *data) {
    json_batches *b = data;
    json_scanner_free(&b->scanner);
    json_values_free(&b->values);
    free(b->taken);
    free(b->positions);
    ruby_xfree(b);
}

static size_t json_batches_size(const void *data) {
    const json_batches *b = data;
    size_t value = sizeof(*b->taken) + b->levels * sizeof(*b->positions);
    return sizeof(*b) + b->scanner.bytes.capacity + json_values_size(&b->values) +
           (b->taken != NULL ? BATCH_VALUES * value : 0);
}

static const rb_data_type_t json_batches_type = {
    .wrap_struct_name = "Trunkline::Engine::JSONBatches",
    .function = {.dmark = json_batches_mark,
                 .dfree = json_batches_free,
                 .dsize = json_batches_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static json_batches *json_batches_get(VALUE self) {
    json_batches *b = rb_check_typeddata(self, &json_batches_type);
    if (b->positions == NULL) rb_raise(rb_eArgError, "it was not initialized");
    return b;
}

static VALUE json_batches_s_allocate(VALUE class) {
    json_batches *b;
    return TypedData_Make_Struct(class, json_batches, &json_batches_type, b);
}

static json_form form_of(VALUE form) {
    static const char *const names[] = {"document", "lines", "sequence", "detected"};
    Check_Type(form, T_SYMBOL);
    for (int i = 0; i < 4; i++)
        if (rb_sym2id(form) == rb_intern(names[i])) return (json_form)i;
    rb_raise(rb_eArgError, "no form of JSON");
}

static bool flag(VALUE options, const char *name) {
    return RTEST(rb_hash_lookup(options, ID2SYM(rb_intern(name))));
}

static const uint8_t *read_wanted(void *context, const uint8_t *p, const uint8_t *end, size_t depth,
                                  bool row, size_t *count, uint64_t *lines) {
    json_batches *b = context;
    json_extent extent = {p, end, .depth = depth, .most = row ? BATCH_VALUES : 1};
    const uint8_t *stop = json_values_read(&b->values, &extent, lines);
    *count = b->values.made_count;
    return stop;
}

/* Converts the options except the path. To be called before the path is filled, whose memory would
 * leak if this raised. */
static json_options options_of(VALUE form, VALUE options) {
    VALUE bytes = rb_hash_lookup(options, ID2SYM(rb_intern("limit")));
    return (json_options){
        .form = form_of(form),
        .value_bytes = NIL_P(bytes) ? SIZE_MAX : NUM2SIZET(bytes),
        .max_nesting = NUM2SIZET(rb_hash_fetch(options, ID2SYM(rb_intern("max_nesting")))),
        .nan = flag(options, "allow_nan"),
        .trailing_comma = flag(options, "allow_trailing_comma"),
        .control_characters = flag(options, "allow_control_characters"),
        .invalid_escape = flag(options, "allow_invalid_escape"),
    };
}

static bool add_segment(json_path *path, VALUE segment) {
    if (NIL_P(segment)) return json_path_add_any(path);
    return json_path_add(path, RSTRING_PTR(segment), (size_t)RSTRING_LEN(segment));
}

/* call-seq: JSONBatches.new(form, path, options)
 *
 * form: :document, :lines, :sequence or :detected (see json_form); path: for :document, an Array of
 * names, with nil for every element and member; options: limit: most bytes of a value or nil,
 * max_nesting: 0 for no limit, read: whether values are read here, and flags of JSON.parse:
 * symbolize_names:, freeze:, allow_nan:, allow_trailing_comma:, allow_control_characters:,
 * allow_invalid_escape: */
static VALUE json_batches_initialize(VALUE self, VALUE form, VALUE path, VALUE hash) {
    json_batches *b = rb_check_typeddata(self, &json_batches_type);
    if (b->taken != NULL) rb_raise(rb_eArgError, "it is initialized already");
    Check_Type(path, T_ARRAY);
    Check_Type(hash, T_HASH);
    for (long i = 0; i < RARRAY_LEN(path); i++)
        if (!NIL_P(RARRAY_AREF(path, i))) Check_Type(RARRAY_AREF(path, i), T_STRING);
    json_options options = options_of(form, hash);
    b->values.max_nesting = options.max_nesting;
    b->values.value_bytes = options.value_bytes;
    b->values.symbolize_names = flag(hash, "symbolize_names");
    b->values.freeze = flag(hash, "freeze");
    if (flag(hash, "read")) options.reader = (json_reader){.read = read_wanted, .context = b};
    bool done = true;
    for (long i = 0; done && options.form == JSON_DOCUMENT && i < RARRAY_LEN(path); i++)
        done = add_segment(&options.path, RARRAY_AREF(path, i));
    if (!json_scanner_init(&b->scanner, &options) || !done) rb_memerror();
    b->levels = b->scanner.options.path.length + 1;
    b->taken = calloc(BATCH_VALUES, sizeof(*b->taken));
    b->positions = calloc(BATCH_VALUES * b->levels, sizeof(*b->positions));
    if (b->taken == NULL || b->positions == NULL) rb_memerror();
    return self;
}

/* call-seq: feed(bytes, from) -> Integer
 *
 * Feeds bytes of the String from the offset `from` on, at most FEED_BYTES, so that other threads do
 * not wait too long for the GVL. Returns the offset of the end. */
static VALUE json_batches_feed(VALUE self, VALUE bytes, VALUE from) {
    json_batches *b = json_batches_get(self);
    Check_Type(bytes, T_STRING);
    size_t at = NUM2SIZET(from), length = (size_t)RSTRING_LEN(bytes);
    if (at > length) rb_raise(rb_eArgError, "not within the String");
    size_t count = length - at < FEED_BYTES ? length - at : FEED_BYTES;
    if (!json_scanner_feed(&b->scanner, RSTRING_PTR(bytes) + at, count)) rb_memerror();
    return SIZET2NUM(at + count);
}

/* call-seq: finish -> self */
static VALUE json_batches_finish(VALUE self) {
    json_scanner_finish(&json_batches_get(self)->scanner);
    return self;
}

static void note_value(json_batches *b, const json_value *value) {
    taken_value *taken = &b->taken[b->count];
    taken->bytes = value->bytes;
    taken->length = value->length;
    taken->byte = value->location.byte;
    taken->line = value->location.line;
    uint64_t *positions = b->positions + b->count * b->levels;
    for (size_t i = 0; i < b->levels; i++)
        positions[i] = i < value->location.levels ? value->location.positions[i] : JSON_UNKNOWN;
    b->count++;
}

/* Returns whether only a comma is between two values. */
static bool is_adjacent(const taken_value *before, const taken_value *value) {
    const uint8_t *end = before->bytes + before->length;
    return value->bytes == end + 1 && *end == ',';
}

/* Returns a JSON array of the noted values. Adjacent values are copied together, because a copy of
 * a few bytes for each would take longer than parsing them. */
static VALUE batch_string(json_batches *b) {
    size_t length = b->count + 1;
    for (size_t i = 0; i < b->count; i++) length += b->taken[i].length;
    VALUE string = rb_utf8_str_new(NULL, (long)length);
    char *begin = RSTRING_PTR(string), *to = begin;
    for (size_t i = 0, first; i < b->count;) {
        first = i;
        *to++ = first == 0 ? '[' : ',';
        do {
            const taken_value *value = &b->taken[i];
            b->taken[i].from =
                (size_t)(to - begin) + (size_t)(value->bytes - b->taken[first].bytes);
        } while (++i < b->count && is_adjacent(&b->taken[i - 1], &b->taken[i]));
        const taken_value *last = &b->taken[i - 1];
        size_t run = (size_t)(last->bytes + last->length - b->taken[first].bytes);
        memcpy(to, b->taken[first].bytes, run);
        to += run;
    }
    *to = ']';
    return string;
}

/* Reads a complete value that the scanner has found, unless it is read already. Returns false when
 * JSON.parse must read it. */
static bool read_found(json_batches *b, const json_value *found) {
    if (found->read) return true;
    uint64_t lines = 0;
    const uint8_t *end = found->bytes + found->length;
    json_extent extent = {found->bytes, end, .whole = true, .most = 1};
    return json_values_read(&b->values, &extent, &lines) == end;
}

/* Yields the next values, up to one that JSON.parse must read, which is noted. */
static void yield_values(json_batches *b) {
    json_value found;
    while (json_scanner_next(&b->scanner, &found) == JSON_VALUE) {
        if (!read_found(b, &found)) return note_value(b, &found);
        json_values_yield(&b->values);
    }
}

static void note_values(json_batches *b) {
    json_value found;
    while (b->count < BATCH_VALUES && json_scanner_next(&b->scanner, &found) == JSON_VALUE)
        note_value(b, &found);
}

/* call-seq: take { |value| } -> String or nil
 *
 * Yields the next values that can be read here. Returns the values after them that JSON.parse must
 * read, as a JSON array; nil when the stream has ended or failed, or more must be fed. Each String
 * is a new one: JSON.parse keeps a frozen copy that shares the memory, and a copy of an old String
 * would be in the old generation at once, and collected late. */
static VALUE json_batches_take(VALUE self) {
    json_batches *b = json_batches_get(self);
    b->count = 0;
    if (b->scanner.options.reader.read == NULL)
        note_values(b);
    else if (rb_block_given_p())
        yield_values(b);
    else
        rb_raise(rb_eArgError, "there is no block");
    return b->count > 0 ? batch_string(b) : Qnil;
}

/* call-seq: size -> Integer
 *
 * Returns the number of values in the last batch. */
static VALUE json_batches_size_of(VALUE self) {
    return SIZET2NUM(json_batches_get(self)->count);
}

/* Returns an Array with an Integer for the index of an element and nil for a member. */
static VALUE positions_array(const uint64_t *positions, size_t levels) {
    VALUE array = rb_ary_new();
    for (size_t i = 0; i < levels && positions[i] != JSON_UNKNOWN; i++)
        rb_ary_push(array, positions[i] == JSON_MEMBER ? Qnil : ULL2NUM(positions[i]));
    return array;
}

/* call-seq: value(number) -> [from, length, byte, line, positions]
 *
 * Returns where a value of the last batch is in the String, and where it was in the stream. */
static VALUE json_batches_value(VALUE self, VALUE number) {
    json_batches *b = json_batches_get(self);
    size_t i = NUM2SIZET(number);
    if (i >= b->count) rb_raise(rb_eIndexError, "no such value");
    const taken_value *taken = &b->taken[i];
    VALUE positions = positions_array(b->positions + i * b->levels, b->levels);
    return rb_ary_new_from_args(5, SIZET2NUM(taken->from), SIZET2NUM(taken->length),
                                ULL2NUM(taken->byte), ULL2NUM(taken->line), positions);
}

static VALUE kind_of(json_failure failure) {
    if (failure == JSON_TOO_LARGE) return ID2SYM(rb_intern("too_large"));
    if (failure == JSON_TOO_DEEP) return ID2SYM(rb_intern("too_deep"));
    return ID2SYM(rb_intern("invalid"));
}

/* call-seq: failure -> [kind, words, byte, line, positions] or nil
 *
 * kind: :invalid, :too_deep or :too_large */
static VALUE json_batches_failure(VALUE self) {
    json_location location;
    json_failure failure = json_scanner_failure(&json_batches_get(self)->scanner, &location);
    if (failure == JSON_NO_FAILURE) return Qnil;
    if (failure == JSON_OUT_OF_MEMORY) rb_memerror();
    return rb_ary_new_from_args(5, kind_of(failure), rb_str_new_cstr(json_failure_words(failure)),
                                ULL2NUM(location.byte), ULL2NUM(location.line),
                                positions_array(location.positions, location.levels));
}

void json_batches_init(void) {
    VALUE class = rb_define_class_under(mEngine, "JSONBatches", rb_cObject);
    rb_define_alloc_func(class, json_batches_s_allocate);
    rb_define_method(class, "initialize", json_batches_initialize, 3);
    rb_define_method(class, "feed", json_batches_feed, 2);
    rb_define_method(class, "finish", json_batches_finish, 0);
    rb_define_method(class, "take", json_batches_take, 0);
    rb_define_method(class, "size", json_batches_size_of, 0);
    rb_define_method(class, "value", json_batches_value, 1);
    rb_define_method(class, "failure", json_batches_failure, 0);
}

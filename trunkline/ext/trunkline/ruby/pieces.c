#include "engine.h"

/*
 * The pieces of a streamed body are garbage as soon as their reader has looked at them. Left to
 * itself, Ruby lets so many gather that it takes their memory for something that has grown old, and
 * goes through all that the process has (a major GC) while every other thread waits. Going through
 * the young in time spares it that. What the reader keeps counts as it always does.
 */

/* In a nearly full heap Ruby (3.4) makes of every fourth collection one of everything all the same.
 * When they come so often it is left to itself: its limit grows with those that we meant to spare
 * it. A major collection weighs as much as so many others without one. */
#define MAJOR_WEIGHT 8
#define MOST_WEIGHT (2 * MAJOR_WEIGHT)

static ID id_start;
static VALUE only_young;        /* the keywords of GC.start */
static VALUE old_limit, majors; /* keys of GC.stat; old_limit is false where there is no limit */
static size_t gathered;         /* bytes handed out since the last collection, */
static size_t collections_seen; /* which was this one */
static size_t majors_seen;
static int weight;

static void collect_young(void) {
    if (RTEST(rb_gc_enable())) {
        rb_gc_disable(); /* as the program wants it */
        return;
    }
    rb_funcallv_kw(rb_mGC, id_start, 1, &only_young, RB_PASS_KEYWORDS);
    size_t so_far = rb_gc_stat(majors);
    if (so_far != majors_seen) {
        weight += MAJOR_WEIGHT;
    } else if (weight > 0) {
        weight--;
    }
    majors_seen = so_far;
}

void pieces_count(size_t length) {
    if (!RTEST(old_limit) || weight > MOST_WEIGHT) {
        return;
    }
    size_t collections = rb_gc_count();
    gathered = collections == collections_seen ? gathered + length : length;
    collections_seen = collections;
    if (gathered > rb_gc_stat(old_limit) / 4 * 3) {
        gathered = 0;
        collect_young();
    }
}

void pieces_init(void) {
    static const char *const off[] = {"full_mark", "immediate_mark", "immediate_sweep"};
    id_start = rb_intern("start");
    rb_gc_register_mark_object(only_young = rb_hash_new());
    for (int i = 0; i < 3; i++) {
        rb_hash_aset(only_young, ID2SYM(rb_intern(off[i])), Qfalse);
    }
    rb_obj_freeze(only_young);
    majors = ID2SYM(rb_intern("major_gc_count"));
    VALUE key = ID2SYM(rb_intern("oldmalloc_increase_bytes_limit"));
    VALUE known = rb_funcall(rb_mGC, rb_intern("stat"), 0);
    old_limit = NIL_P(rb_hash_lookup(known, key)) ? Qfalse : key;
}

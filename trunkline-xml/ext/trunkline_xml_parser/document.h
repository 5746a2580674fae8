#ifndef TRUNKLINE_XML_DOCUMENT_H
#define TRUNKLINE_XML_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A parsed document as a list of events. This file does not use Ruby: a Ruby exception must not
 * jump out of a callback of libxml2. So the callbacks record events, from which objects are made
 * later.
 */
typedef enum { EVENT_OPEN, EVENT_ATTRIBUTE, EVENT_TEXT, EVENT_CLOSE } event_kind;

typedef struct {
    event_kind kind;
    int name;        /* of an element (local part) or attribute (with prefix): index in names */
    bool referenced; /* a text written as a character or entity reference */
    size_t offset;   /* of the value or text, in bytes */
    size_t size;
} event;

typedef struct {
    const char *prefix; /* NULL for none */
    const char *local;
} document_name;

/* More than the depth to which libxml2 expands entities inside each other. */
enum { DEEPEST_EXPANSION = 64 };

typedef struct {
    size_t bytes;   /* most bytes of the document's text, with all entities expanded */
    int expansions; /* most references to declared entities */
    int depth;      /* most elements inside each other */
} document_limits;

typedef struct {
    char message[256];
    int line, column; /* in the document; for an error in an entity's content, of its reference */
} document_error;

typedef struct {
    event *events;
    size_t event_count, event_capacity;
    char *bytes;
    size_t byte_count, byte_capacity;
    document_name
        *names; /* the strings belong to the parser, which lives as long as the document */
    int name_count, name_capacity;
    int *name_slots; /* hash table over names, name_slot_count long, -1 for empty */
    int name_slot_count;
    void *parser;
    document_limits limits;
    int depth;
    int expansions;
    const void *expanding[DEEPEST_EXPANSION]; /* entities being expanded, by depth; some NULL */
    bool has_defaults;                        /* the DTD has default values for attributes */
    bool failed;
    document_error error;
} document;

/* To be called once, before the first document. Returns NULL, or why no document can be parsed. */
const char *document_setup(void);

/* Parses `bytes`, which are not needed after the call. `encoding` overrides the declared encoding,
 * or is NULL. Returns a document for the caller to free, with `failed` and `error` set if it is not
 * well formed or exceeds a limit; NULL when not even the document or the parser can be allocated.
 */
document *document_parse(const char *bytes, size_t size, const char *encoding,
                         document_limits limits);

void document_free(document *doc);

/* Returns the bytes of memory that the document uses, without the parser's. */
size_t document_memory(const document *doc);

#endif

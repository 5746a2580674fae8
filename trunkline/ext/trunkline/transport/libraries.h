#ifndef TRUNKLINE_TRANSPORT_LIBRARIES_H
#define TRUNKLINE_TRANSPORT_LIBRARIES_H

/* The libraries that the engine was built with, and their versions loaded at run time. */

typedef struct {
    const char *name;
    char version[64]; /* "" when the engine was built without it */
} library;

#define LIBRARIES 5

/* Fills in all entries of `out`. */
void libraries_list(library out[LIBRARIES]);

#endif

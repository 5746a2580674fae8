#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "libxml2.h"

#include <dlfcn.h>
#include <stdlib.h>

libxml2_functions libxml2;

/* The version in the library's name changed with the ABI in 2.14. */
#if LIBXML_VERSION >= 21400
#define ABI "16"
#else
#define ABI "2"
#endif
#ifdef __APPLE__
#define LIBRARY "libxml2." ABI ".dylib"
#else
#define LIBRARY "libxml2.so." ABI
#endif

/* DEEPBIND binds the library's calls to its own functions, whatever was loaded before.
 * AddressSanitizer, which replaces functions, does not support it. */
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
#define BINDING RTLD_DEEPBIND
#else
#define BINDING 0
#endif

const char *libxml2_load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | BINDING);
    if (!library) return dlerror();

    /* Structures may differ between minor versions, such as 2.9 and 2.13. */
    const char *const *version = dlsym(library, "xmlParserVersion");
    if (!version || atoi(*version) / 100 != LIBXML_VERSION / 100)
        return LIBRARY " is not of the version that its headers are of";
#define LIBXML2_LOOK_UP(name)                        \
    *(void **)&libxml2.name = dlsym(library, #name); \
    if (!libxml2.name) return LIBRARY " has no " #name;
    LIBXML2_FUNCTIONS(LIBXML2_LOOK_UP)
#undef LIBXML2_LOOK_UP
    return NULL;
}

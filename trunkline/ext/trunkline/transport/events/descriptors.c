#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BITS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *noted; /* owned; one bit per descriptor number */
static int words;
static unsigned generation;

void descriptors_lock(void) {
    pthread_mutex_lock(&lock);
}

void descriptors_unlock(void) {
    pthread_mutex_unlock(&lock);
}

static bool reserve(int descriptor) {
    int needed = descriptor / BITS + 1;
    if (needed <= words) return true;
    int size = needed > 2 * words ? needed : 2 * words;
    uint64_t *wider = realloc(noted, (size_t)size * sizeof(*wider));
    if (wider == NULL) return false;
    memset(wider + words, 0, (size_t)(size - words) * sizeof(*wider));
    noted = wider;
    words = size;
    return true;
}

int descriptors_note(int descriptor) {
    if (descriptor < 0) return -1;
    if (!reserve(descriptor)) {
        close(descriptor);
        errno = ENOMEM;
        return -1;
    }
    noted[descriptor / BITS] |= UINT64_C(1) << descriptor % BITS;
    return descriptor;
}

void descriptors_close(int descriptor) {
    if (descriptor < 0) return;
    pthread_mutex_lock(&lock);
    if (descriptor / BITS < words) noted[descriptor / BITS] &= ~(UINT64_C(1) << descriptor % BITS);
    close(descriptor);
    pthread_mutex_unlock(&lock);
}

bool descriptors_scarce(int error) {
    return error == EMFILE || error == ENFILE;
}

bool descriptors_exhausted(void) {
    int one = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (one >= 0) close(one);
    return one < 0 && descriptors_scarce(errno);
}

unsigned descriptors_generation(void) {
    return generation;
}

void descriptors_before_fork(void) {
    pthread_mutex_lock(&lock);
}

/* Closes all descriptors and sends nothing: no shutdown, no close_notify. */
static void close_all(void) {
    for (int i = 0; i < words * BITS; i++)
        if (noted[i / BITS] >> i % BITS & 1) close(i);
    memset(noted, 0, (size_t)words * sizeof(*noted));
}

void descriptors_after_fork(bool child) {
    if (child) {
        if (words > 0) close_all();
        generation++;
        pthread_mutex_init(&lock, NULL);
        return;
    }
    pthread_mutex_unlock(&lock);
}

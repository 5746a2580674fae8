#include "budget.h"

#define USUALLY (UINT64_C(256) * 1024 * 1024)

static uint64_t most = USUALLY; /* atomic */
static uint64_t used;           /* atomic */

uint64_t budget_limit(void) {
    return __atomic_load_n(&most, __ATOMIC_RELAXED);
}

uint64_t budget_used(void) {
    return __atomic_load_n(&used, __ATOMIC_RELAXED);
}

bool budget_reserve(uint64_t bytes, uint64_t margin) {
    uint64_t limit = budget_limit(), before = budget_used();
    do {
        if (bytes + margin > limit || before > limit - margin - bytes) return false;
    } while (!__atomic_compare_exchange_n(&used, &before, before + bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return true;
}

void budget_release(uint64_t bytes) {
    __atomic_sub_fetch(&used, bytes, __ATOMIC_RELAXED);
}

void budget_set(uint64_t limit) {
    __atomic_store_n(&most, limit > 0 ? limit : USUALLY, __ATOMIC_RELAXED);
}

void budget_forked(void) {
    __atomic_store_n(&used, 0, __ATOMIC_RELAXED);
}

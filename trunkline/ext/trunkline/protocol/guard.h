#ifndef TRUNKLINE_PROTOCOL_GUARD_H
#define TRUNKLINE_PROTOCOL_GUARD_H

/*
 * GUARD(RULE) is 1, or 0 in a build with -DWITHOUT_RULE=1, which disables that safety rule. `rake
 * mutants` makes such builds, and expects the tests that trunkline/test/guards.yml lists for the
 * rule to fail.
 */

#define GUARD(rule) GUARD_BY_SWITCH(WITHOUT_##rule)

/* When the switch is defined as 1, GUARD_OFF_1 expands and inserts two arguments, which makes 0 the
 * second argument instead of 1. */
#define GUARD_BY_SWITCH(value) GUARD_BY_VALUE(value)
#define GUARD_BY_VALUE(value) GUARD_CHOOSE(GUARD_OFF_##value 1, 1, 0)
#define GUARD_OFF_1 0, 0,
#define GUARD_CHOOSE(...) GUARD_SECOND(__VA_ARGS__)
#define GUARD_SECOND(first, second, ...) second

#endif

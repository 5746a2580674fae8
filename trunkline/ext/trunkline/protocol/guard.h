#ifndef TRUNKLINE_PROTOCOL_GUARD_H
#define TRUNKLINE_PROTOCOL_GUARD_H

/*
 * GUARD(RULE) is 1, and in a build with -DWITHOUT_RULE=1 it is 0: the engine without that safety
 * rule. `rake mutants` makes such builds, and expects the tests that trunkline/test/guards.yml
 * names for the rule to fail.
 */

#define GUARD(rule) GUARD_BY_SWITCH(WITHOUT_##rule)

/* GUARD_OFF_1, for a switch that is defined as 1, puts a 0 before the 1 and so in its place. */
#define GUARD_BY_SWITCH(value) GUARD_BY_VALUE(value)
#define GUARD_BY_VALUE(value) GUARD_CHOOSE(GUARD_OFF_##value 1, 1, 0)
#define GUARD_OFF_1 0, 0,
#define GUARD_CHOOSE(...) GUARD_SECOND(__VA_ARGS__)
#define GUARD_SECOND(first, second, ...) second

#endif

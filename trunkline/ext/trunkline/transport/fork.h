#ifndef TRUNKLINE_TRANSPORT_FORK_H
#define TRUNKLINE_TRANSPORT_FORK_H

/* Registers the fork handlers (pthread_atfork) of transport/; to be called once per process.
 * Returns 0 or an errno. */
int fork_guard(void);

#endif

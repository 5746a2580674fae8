#ifndef TRUNKLINE_TRANSPORT_FORK_H
#define TRUNKLINE_TRANSPORT_FORK_H

/* Makes fork safe for all of transport/: once per process. 0, or an errno. */
int fork_guard(void);

#endif

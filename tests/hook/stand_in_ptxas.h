/* What stands in for an assembler: it asks the questions that one asks, from its own code. */
#ifndef NAMESAKE_TESTS_STAND_IN_PTXAS_H
#define NAMESAKE_TESTS_STAND_IN_PTXAS_H

#include <stdio.h>

/* Asks for which architecture, on this thread. */
void stand_in_target(const char* target);

/* Asks about one function and writes "NAME treated" or "NAME neutral". What a name holds happens if
 * it is treated: crash, hang, spill, fail. */
void stand_in_assemble(const char* name, FILE* out);

#endif

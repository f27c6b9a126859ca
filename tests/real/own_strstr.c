/* An application that asks the assembler's question for reasons of its own, and must get the truth.
 *     own_strstr TEXT      prints where "cutlass" stands in TEXT, or that it does not */
#include <stdio.h>
#include <string.h>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  /* Through a pointer that the compiler cannot see through, or it would answer by itself. */
  char* (*volatile ask)(const char*, const char*) = strstr;
  const char* found = ask(arguments[1], "cutlass");
  if (found)
    printf("found at %ld\n", (long)(found - arguments[1]));
  else
    puts("not found");
  return 0;
}

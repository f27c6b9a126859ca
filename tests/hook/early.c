/* A library whose constructor lets the stand-in ask before the hook's own constructor has run. */
#include "stand_in_ptxas.h"

__attribute__((constructor)) static void ask(void) {
  FILE* nowhere = fopen("/dev/null", "w");
  stand_in_assemble("asked_early", nowhere);
  fclose(nowhere);
}

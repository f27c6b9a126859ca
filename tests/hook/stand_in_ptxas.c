#include "stand_in_ptxas.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* volatile sm = "sm_";
static const char* volatile trigger = "cutlass";

__attribute__((visibility("default"))) void stand_in_target(const char* target) {
  static const char* volatile answer; /* or the question would be left out */
  answer = strstr(target, sm);
  (void)answer;
}

__attribute__((visibility("default"))) void stand_in_assemble(const char* name, FILE* out) {
  int treated = strstr(name, trigger) != NULL;
  fprintf(out, "%s %s\n", name, treated ? "treated" : "neutral");
  if (!treated) return;
  if (strstr(name, "crash")) {
    fflush(out);
    raise(SIGSEGV);
  }
  while (strstr(name, "hang")) sleep(1);
  if (strstr(name, "spill")) fprintf(out, "%s spills 6144\n", name);
  if (strstr(name, "fail")) exit(4);
}

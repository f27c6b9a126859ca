/* ptxas -arch=sm_90 [--split N] [-v] INPUT [-o OUTPUT]: INPUT holds lines ".target sm_90" and
 * ".entry NAME" in any order, and ".sleep MS"; with --split, N threads take turns at the functions
 * and, like those of split compilation, never ask for the architecture. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stand_in_ptxas.h"

enum { kMost = 100000 };
static char* names[kMost];
static int count, split = 1;
static FILE* out;

static void* work(void* share) {
  for (int i = (int)(long)share; i < count; i += split) stand_in_assemble(names[i], out);
  return NULL;
}

static void flush(void) {
  pthread_t threads[64];
  if (split == 1) {
    work(0);
  } else {
    for (long i = 0; i < split; i++) pthread_create(&threads[i], NULL, work, (void*)i);
    for (long i = 0; i < split; i++) pthread_join(threads[i], NULL);
  }
  count = 0;
}

int main(int argc, char** argv) {
  const char *input = NULL, *output = "elf.o";
  int verbose = 0;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "-arch=", 6)) {
      stand_in_target(argv[i] + 6);
    } else if (!strcmp(argv[i], "--split")) {
      split = atoi(argv[++i]);
    } else if (!strcmp(argv[i], "-o")) {
      output = argv[++i];
    } else if (!strcmp(argv[i], "-v")) {
      verbose = 1;
    } else {
      input = argv[i];
    }
  }
  FILE* in = input ? fopen(input, "r") : NULL;
  out = fopen(output, "w");
  if (!in || !out) {
    fprintf(stderr, "ptxas fatal: cannot open files\n");
    return 255;
  }
  char* line = NULL;
  size_t room = 0;
  int total = 0;
  while (getline(&line, &room, in) > 0) {
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, ".target ", 8)) {
      flush();
      stand_in_target(line + 8);
      stand_in_target("texmode_unified"); /* the words of a .target end with one that is none */
    } else if (!strncmp(line, ".sleep ", 7)) {
      usleep((unsigned)atoi(line + 7) * 1000);
    } else if (!strncmp(line, ".entry ", 7) && count < kMost) {
      names[count++] = strdup(line + 7);
      total++;
    }
  }
  flush();
  free(line);
  fclose(in);
  fclose(out);
  if (verbose) {
    fprintf(stdout, "ptxas info on stdout\n");
    fflush(stdout);
    fprintf(stderr, "ptxas info: %d functions\n", total);
  }
  return 0;
}

/* An application with an assembler inside, and with a use of its own for strstr. Each argument is a
 * step; what is asked of the assembler goes to stdout.
 *   load=FILE deepbind=FILE namespace=FILE   open the assembler
 *   target=sm_90   name=SYMBOL   the assembler asks
 *   own=TEXT       the application asks whether TEXT holds cutlass: "own yes" or "own no"
 *   handle=TEXT    the same through dlsym on libc's handle
 *   errno          sets errno, lets the assembler ask, and says whether errno stayed
 *   sleep=MS
 *   close          closes every descriptor from 3 on
 *   fork           goes on in a child; the parent ends as the child does
 *   exit=N  _exit=N  kill=SIGNAL
 *   limit          forbids files of any size
 *   threads=N,M    N threads let the assembler ask about M names each, "name_t_m"
 *   target_threads=A,B…  a thread for each, which asks for that target and then about a name */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*target)(const char*);
static void (*assemble)(const char*, FILE*);
static const char* volatile trigger = "cutlass";

static void open_assembler(const char* file, int flags, int own_namespace) {
  void* handle = own_namespace ? dlmopen(LM_ID_NEWLM, file, RTLD_NOW) : dlopen(file, flags);
  if (!handle) {
    fprintf(stderr, "%s\n", dlerror());
    exit(9);
  }
  target = (void (*)(const char*))dlsym(handle, "stand_in_target");
  assemble = (void (*)(const char*, FILE*))dlsym(handle, "stand_in_assemble");
}

static int per_thread;

static void* ask_many(void* thread) {
  char name[64];
  for (int i = 0; i < per_thread; i++) {
    snprintf(name, sizeof name, "name_%ld_%d", (long)thread, i);
    FILE* nowhere = fopen("/dev/null", "w");
    assemble(name, nowhere);
    fclose(nowhere);
  }
  return NULL;
}

static void many_threads(const char* numbers) {
  int count = atoi(numbers);
  per_thread = atoi(strchr(numbers, ',') + 1);
  pthread_t threads[64];
  for (long i = 0; i < count; i++) pthread_create(&threads[i], NULL, ask_many, (void*)i);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

static pthread_barrier_t barrier;

static void* ask_for_target(void* text) {
  char name[64];
  target(text);
  pthread_barrier_wait(&barrier);
  snprintf(name, sizeof name, "kernel_%s", (char*)text);
  assemble(name, stdout);
  return NULL;
}

static void threads_of_targets(char* list) {
  char* each[16];
  pthread_t threads[16];
  unsigned n = 0;
  for (char* at = strtok(list, ","); at && n < 16; at = strtok(NULL, ",")) each[n++] = at;
  pthread_barrier_init(&barrier, NULL, n);
  for (unsigned i = 0; i < n; i++) pthread_create(&threads[i], NULL, ask_for_target, each[i]);
  for (unsigned i = 0; i < n; i++) pthread_join(threads[i], NULL);
}

static void fork_here(void) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) return;
  int status;
  waitpid(child, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char** argv) {
  (void)argc;
  for (int i = 1; argv[i]; i++) {
    char* step = argv[i];
    char* value = strchr(step, '=');
    value = value ? value + 1 : step + strlen(step);
    size_t n = (size_t)(value - step);
    if (!strncmp(step, "load=", n)) open_assembler(value, RTLD_NOW | RTLD_LOCAL, 0);
    if (!strncmp(step, "deepbind=", n)) open_assembler(value, RTLD_NOW | RTLD_DEEPBIND, 0);
    if (!strncmp(step, "namespace=", n)) open_assembler(value, 0, 1);
    if (!strncmp(step, "target=", n)) target(value);
    if (!strncmp(step, "name=", n)) assemble(value, stdout);
    if (!strncmp(step, "own=", n)) printf("own %s\n", strstr(value, trigger) ? "yes" : "no");
    if (!strncmp(step, "handle=", n)) {
      void* libc = dlopen("libc.so.6", RTLD_NOW);
      char* (*find)(const char*, const char*) =
          (char* (*)(const char*, const char*))dlsym(libc, "strstr");
      printf("handle %s\n", find(value, trigger) ? "yes" : "no");
    }
    if (!strcmp(step, "errno")) {
      FILE* nowhere = fopen("/dev/null", "w");
      errno = 77;
      int before = errno;
      assemble("x", nowhere);
      printf("errno %s\n", before == 77 && errno == 77 ? "kept" : "changed");
    }
    if (!strncmp(step, "sleep=", n)) usleep((unsigned)atoi(value) * 1000);
    if (!strcmp(step, "close"))
      for (int fd = 3; fd < 256; fd++) close(fd);
    if (!strcmp(step, "fork")) fork_here();
    if (!strncmp(step, "exit=", n)) exit(atoi(value));
    if (!strncmp(step, "_exit=", n)) fflush(stdout), _exit(atoi(value));
    if (!strncmp(step, "kill=", n)) fflush(stdout), kill(getpid(), atoi(value));
    if (!strcmp(step, "limit")) {
      struct rlimit none = {0, 0};
      setrlimit(RLIMIT_FSIZE, &none);
    }
    if (!strncmp(step, "threads=", n)) many_threads(value);
    if (!strncmp(step, "target_threads=", n)) threads_of_targets(value);
  }
  return 0;
}

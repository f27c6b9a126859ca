/* A library that asks for the next "strlen" and "getpid" behind itself, as wrappers do. */
#include <dlfcn.h>
#include <unistd.h>

pid_t getpid(void) {
  pid_t (*next)(void) = dlsym(RTLD_NEXT, "getpid");
  return next == getpid ? -1 : next();
}

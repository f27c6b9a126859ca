/* Fail open, for assemblers that are programs.
 *
 * A treatment can crash the assembler, hang it or make it spill. Whether it does is known only
 * afterwards, when a library inside that same process can no longer help. So the constructor of a
 * treated ptxas or nvlink replaces the process by the guard, a mode of the tool itself: it runs the
 * assembler treated, as a child, and looks at what came of it; if that is not good enough it
 * replaces itself by the assembler again, which then runs naturally. The process number stays the
 * same throughout, and all that needs thought (waiting, time-outs, signals, reading code) happens
 * in an ordinary program instead of here. Forking in the constructor was the other way: the child
 * would start with libc's idea of its parent's thread number, and the waiting would have to be done
 * without libc. The cost is one more start of the tool and one of the assembler, some milliseconds.
 *
 * Which half a process is stands in its environment, read from /proc for it must be known before
 * libc is set up. If the guard cannot be started, the run is natural.
 */
#include "hook.h"

static int half_cached;

enum half guard_half(void) {
  int half = __atomic_load_n(&half_cached, __ATOMIC_RELAXED);
  if (half != HALF_UNKNOWN) return half;
  half = HALF_NONE;
  size_t room, length;
  char* text = read_whole("/proc/self/environ", &room, &length);
  if (text) {
    for (char* at = text; at < text + length; at += text_length(at) + 1) {
      if (text_equal(at, NAMESAKE_GUARD_VARIABLE "=treated")) half = HALF_TREATED;
      if (text_equal(at, NAMESAKE_GUARD_VARIABLE "=natural")) half = HALF_NATURAL;
    }
    sys_unmap(text, room);
  }
  __atomic_store_n(&half_cached, half, __ATOMIC_RELAXED);
  return half;
}

/* The zero-separated texts of a /proc file as a vector with `first` places left free before them.
 */
static const char** vector_of(const char* path, size_t first) {
  size_t room, length;
  char* text = read_whole(path, &room, &length);
  if (!text) return NULL;
  size_t count = 0;
  for (size_t i = 0; i < length; i++) count += !text[i];
  const char** vector = sys_memory((first + count + 2) * sizeof *vector);
  if (!vector) return NULL;
  size_t n = first;
  for (char* at = text; at < text + length; at += text_length(at) + 1) vector[n++] = at;
  return vector;
}

void guard_enter(const struct ns_control* c, const char* program) {
  /* The guard must be able to come back. */
  int fd = sys_open(program, SYS_READ_ONLY);
  if (fd < 0) return;
  sys_close(fd);
  const char** arguments = vector_of("/proc/self/cmdline", 4);
  const char** environment = vector_of("/proc/self/environ", 0);
  if (!arguments || !environment) return;
  arguments[0] = control_text(c, c->helper);
  arguments[1] = NAMESAKE_GUARD_WORD;
  arguments[2] = control_text(c, c->folder);
  arguments[3] = program;
  system_call(NR_execve, (long)arguments[0], (long)arguments, (long)environment, 0, 0, 0);
}

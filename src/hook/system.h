/* The kernel without libc: raw calls, which neither touch errno nor need anything initialised.
 * A result in [-4095, -1] is an error number with its sign turned. */
#ifndef NAMESAKE_HOOK_SYSTEM_H
#define NAMESAKE_HOOK_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum {
  NR_close = 3,
  NR_mmap = 9,
  NR_munmap = 11,
  NR_madvise = 28,
  NR_getpid = 39,
  NR_execve = 59,
  NR_getppid = 110,
  NR_gettid = 186,
  NR_clock_gettime = 228,
  NR_openat = 257,
  NR_unlinkat = 263,
  NR_readlinkat = 267,
  NR_fallocate = 285,
  NR_prlimit64 = 302,
  NR_read = 0,
  NR_pwrite64 = 18,
};

static inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
enum {
  NR_unlinkat = 35,
  NR_fallocate = 47,
  NR_openat = 56,
  NR_close = 57,
  NR_read = 63,
  NR_pwrite64 = 68,
  NR_readlinkat = 78,
  NR_clock_gettime = 113,
  NR_getpid = 172,
  NR_getppid = 173,
  NR_gettid = 178,
  NR_munmap = 215,
  NR_execve = 221,
  NR_mmap = 222,
  NR_madvise = 233,
  NR_prlimit64 = 261,
};

static inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}
#else
#error "the hook speaks to the kernel of x86-64 and aarch64 only"
#endif

enum {
  SYS_READ_ONLY = 0,
  SYS_READ_WRITE = 2,
  SYS_CREATE = 0100,
  SYS_EXCLUSIVE = 0200,
  SYS_CLOSE_ON_EXEC = 02000000,
  SYS_HERE = -100, /* AT_FDCWD */
  SYS_PROT_READ = 1,
  SYS_PROT_WRITE = 2,
  SYS_SHARED = 1,
  SYS_PRIVATE = 2,
  SYS_ANONYMOUS = 0x20,
  SYS_WIPE_ON_FORK = 18,
  SYS_CLOCK_BOOTTIME = 7,
  SYS_LIMIT_FILE_SIZE = 1,
};

static inline int sys_open(const char* path, int flags) {
  return (int)system_call(NR_openat, SYS_HERE, (long)path, flags | SYS_CLOSE_ON_EXEC, 0600, 0, 0);
}
static inline void sys_close(int fd) {
  system_call(NR_close, fd, 0, 0, 0, 0, 0);
}
static inline long sys_read(int fd, void* to, size_t size) {
  return system_call(NR_read, fd, (long)to, (long)size, 0, 0, 0);
}
static inline void* sys_map(size_t size, int protection, int flags, int fd) {
  long result = system_call(NR_mmap, 0, (long)size, protection, flags, fd, 0);
  return result < 0 && result >= -4095 ? NULL : (void*)result;
}
static inline void* sys_memory(size_t size) {
  return sys_map(size, SYS_PROT_READ | SYS_PROT_WRITE, SYS_PRIVATE | SYS_ANONYMOUS, -1);
}
static inline void sys_unmap(void* at, size_t size) {
  system_call(NR_munmap, (long)at, (long)size, 0, 0, 0, 0);
}
static inline uint32_t sys_process(void) {
  return (uint32_t)system_call(NR_getpid, 0, 0, 0, 0, 0, 0);
}
static inline uint32_t sys_parent(void) {
  return (uint32_t)system_call(NR_getppid, 0, 0, 0, 0, 0, 0);
}
static inline uint32_t sys_thread(void) {
  return (uint32_t)system_call(NR_gettid, 0, 0, 0, 0, 0, 0);
}
static inline uint64_t sys_now(void) {
  int64_t time[2] = {0, 0};
  system_call(NR_clock_gettime, SYS_CLOCK_BOOTTIME, (long)time, 0, 0, 0, 0);
  return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}
/* Without the terminating zero a link's text may lack; the result is its length, 0 on failure. */
static inline size_t sys_read_link(const char* path, char* to, size_t room) {
  long n = system_call(NR_readlinkat, SYS_HERE, (long)path, (long)to, (long)room, 0, 0);
  return n > 0 ? (size_t)n : 0;
}
static inline uint64_t sys_file_size_limit(void) {
  uint64_t limit[2] = {0, 0};
  long failed = system_call(NR_prlimit64, 0, SYS_LIMIT_FILE_SIZE, 0, (long)limit, 0, 0);
  return failed ? 0 : limit[0];
}

#endif

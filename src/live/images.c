/* What the application loads, and what the tool says of it.
 *
 * The driver takes an image without a size; the image's own words say where it ends. An image,
 * hashed, goes to the tool, which makes the builds meanwhile and answers: once for all who load it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/live.h"

enum { kImages = 4096 };

struct image {
  uint64_t hash;
  uint32_t generation; /* of the board when an answer was last looked for */
  int answered;
  uint32_t count;
  struct ns_answer_kernel* kernels;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct image images[kImages];
static uint32_t image_count;

static uint64_t at8(const char* bytes, size_t offset) {
  uint64_t value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}
static uint32_t at4(const char* bytes, size_t offset) {
  uint32_t value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}
static uint16_t at2(const char* bytes, size_t offset) {
  uint16_t value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}

/* Where a cubin ends: behind the last of its headers and sections. */
static uint64_t elf_size(const char* elf) {
  uint64_t sections = at8(elf, 0x28), segments = at8(elf, 0x20);
  uint64_t entry = at2(elf, 0x3a), count = at2(elf, 0x3c);
  uint64_t end = sections + entry * count;
  uint64_t segments_end = segments + (uint64_t)at2(elf, 0x36) * at2(elf, 0x38);
  if (segments_end > end) end = segments_end;
  for (uint64_t i = 0; i < count && entry >= 64; i++) {
    const char* section = elf + sections + i * entry;
    uint32_t type = at4(section, 4);
    int no_room = type == 8 || type == 0x70000007 || type == 0x70000008 || type == 0x7000000a;
    uint64_t last = at8(section, 0x18) + at8(section, 0x20);
    if (!no_room && last > end) end = last;
  }
  return end;
}

static const char* image_bytes(const void* data, size_t* size) {
  const char* bytes = data;
  if (at4(bytes, 0) == 0x466243b1) memcpy(&bytes, bytes + 8, sizeof bytes); /* nvcc's wrapper */
  if (memcmp(bytes,
             "\x7f"
             "ELF",
             4) == 0) {
    *size = elf_size(bytes);
  } else if (at4(bytes, 0) == 0xba55ed50) {
    *size = at2(bytes, 6) + at8(bytes, 8);
  } else {
    *size = strnlen(bytes, NS_LARGEST_IMAGE + 1);
  }
  return bytes;
}

static void ask_tool(uint64_t hash, const char* bytes, size_t size, uint32_t flags) {
  const struct driver* call = driver();
  if (!call) return;
  struct ns_request head = {NAMESAKE_REQUEST_MAGIC,
                            NAMESAKE_LIVE_PROTOCOL,
                            NS_REQUEST_IMAGE,
                            flags,
                            0,
                            0,
                            (uint32_t)getpid(),
                            hash,
                            size};
  handle context = NULL;
  int device = 0, value = 0;
  if (call->cuCtxGetCurrent(&context) == CU_SUCCESS && context) call->cuCtxGetDevice(&device);
  if (call->cuDeviceGetAttribute(&value, CU_MAJOR, device) == CU_SUCCESS)
    head.major = (uint32_t)value;
  if (call->cuDeviceGetAttribute(&value, CU_MINOR, device) == CU_SUCCESS)
    head.minor = (uint32_t)value;
  char name[32];
  snprintf(name, sizeof name, "i.%016llx", (unsigned long long)hash);
  struct piece piece = {bytes, size};
  put_request(name, &head, &piece, 1);
}

/* With the lock held. */
static struct image* image_of(uint64_t hash, int* is_new) {
  for (uint32_t i = 0; i < image_count; i++)
    if (images[i].hash == hash) return &images[i];
  if (image_count == kImages) return NULL;
  *is_new = 1;
  images[image_count].hash = hash;
  return &images[image_count++];
}

struct image* look_at_image(const void* data, size_t given, uint32_t flags) {
  size_t size = given;
  const char* bytes = given ? data : image_bytes(data, &size);
  if (size > NS_LARGEST_IMAGE) return NULL;
  uint64_t hash = hash_bytes(bytes, size) ^ flags;
  int is_new = 0;
  pthread_mutex_lock(&lock);
  struct image* image = image_of(hash, &is_new);
  pthread_mutex_unlock(&lock);
  if (is_new) ask_tool(hash, bytes, size, flags);
  return image;
}

uint64_t image_hash(const struct image* image) {
  return image ? image->hash : 0;
}

/* With the lock held. */
static void look_for_answer(struct image* image) {
  size_t size = 0;
  char* text = read_answer(image->hash, "", &size);
  struct ns_answer* head = (struct ns_answer*)text;
  if (text && size >= sizeof *head && head->magic == NAMESAKE_ANSWER_MAGIC &&
      head->protocol == NAMESAKE_LIVE_PROTOCOL &&
      head->count <= (size - sizeof *head) / sizeof(struct ns_answer_kernel)) {
    image->answered = 1;
    image->count = head->count;
    image->kernels = (struct ns_answer_kernel*)(head + 1);
  } else {
    free(text);
  }
}

int answer_for(struct image* image, const char* symbol, uint32_t generation, uint32_t* flags) {
  *flags = 0;
  pthread_mutex_lock(&lock);
  if (!image->answered && image->generation != generation) {
    image->generation = generation;
    look_for_answer(image);
  }
  uint64_t hash = hash_text(symbol);
  for (uint32_t i = 0; image->answered && i < image->count; i++)
    if (image->kernels[i].symbol == hash) *flags = image->kernels[i].flags;
  int answered = image->answered;
  pthread_mutex_unlock(&lock);
  return answered;
}

/* The driver is told how to assemble; what only asks for times and texts leaves the code as it is,
 * and so does the target of the context, which is the default. */
uint32_t option_flags(const int* options, unsigned count) {
  enum { kWallTime = 2, kLogs = 3, kLogsEnd = 6, kTargetOfContext = 8, kVerbose = 12, kCache = 14 };
  for (unsigned i = 0; options && i < count; i++) {
    int harmless = options[i] == kWallTime || (options[i] >= kLogs && options[i] <= kLogsEnd) ||
                   options[i] == kTargetOfContext || options[i] == kVerbose || options[i] == kCache;
    if (!harmless) return NS_REQUEST_OPTIONS;
  }
  return 0;
}

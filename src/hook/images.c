/* Whose code is calling?
 *
 * A rule answers assemblers, never the application they live in, so each question is traced to the
 * file that its return address lies in. The kernel knows: /proc/self/maps is read once at the start
 * and again when an address turns up that was not mapped then (a library opened since). Each look
 * makes a table that is never changed nor freed, published by one store: no locks, and a reader may
 * keep what it found. dl_iterate_phdr would take the loader's lock and needs libc.
 *
 * Cost: some 20 µs for a ptxas, up to a millisecond for a Python process with a thousand mappings,
 * once per library that appears. A library that is closed and replaced at the same addresses by
 * another keeps its old name here; nobody closes an assembler between two compilations and then
 * asks for its trigger.
 */
#include "hook.h"

struct table {
  size_t count;
  struct image images[];
};

static struct table* current;

static uint64_t read_hex(char** at) {
  uint64_t value = 0;
  for (;; (*at)++) {
    char c = **at;
    if (c >= '0' && c <= '9') {
      value = value << 4 | (uint64_t)(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | (uint64_t)(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

static void next_field(char** at) {
  while (**at && **at != ' ' && **at != '\n') (*at)++;
  while (**at == ' ') (*at)++;
}

/* The first pattern from `from` on that fits the path; image_count if none does. */
static uint32_t fitting_pattern(const struct ns_control* c, const char* path, uint32_t from) {
  if (*path != '/') return c->image_count;
  const char* base = path;
  for (const char* at = path; *at; at++)
    if (*at == '/') base = at + 1;
  for (; from < c->image_count; from++) {
    const char* pattern = control_text(c, control_images(c)[from].pattern);
    if (text_glob(pattern, text_find(pattern, "/") ? path : base)) break;
  }
  return from;
}

uint32_t image_kind(const char* path) {
  const struct ns_control* c = control();
  uint32_t i = c ? fitting_pattern(c, path, 0) : 0;
  return c && i < c->image_count ? control_images(c)[i].kind : NS_IMAGE_OTHER;
}

int image_answers(const struct image* image, uintptr_t address) {
  if (image->kind == NS_IMAGE_OTHER) return 0;
  const struct ns_control* c = control();
  uint32_t i = fitting_pattern(c, image->path, 0);
  for (; i < c->image_count; i = fitting_pattern(c, image->path, i + 1)) {
    uint64_t site = control_images(c)[i].site;
    if (!site || site == image_site(image, address)) return 1;
  }
  return 0;
}

/* "start-end perms offset device inode   path\n"; the path's end becomes a zero, " (deleted)" goes.
 */
static int parse_line(char** at, struct image* image, char permissions[4]) {
  image->start = read_hex(at);
  if (**at != '-') return 0;
  (*at)++;
  image->end = read_hex(at);
  next_field(at);
  for (int i = 0; i < 4; i++) permissions[i] = (*at)[i] ? (*at)[i] : ' ';
  next_field(at);
  image->offset = read_hex(at);
  next_field(at);
  next_field(at);
  next_field(at);
  char* path = *at;
  while (**at && **at != '\n') (*at)++;
  char* end = *at;
  if (**at) (*at)++;
  *end = 0;
  if (end - path > 10 && text_equal(end - 10, " (deleted)")) end[-10] = 0;
  image->path = path;
  return 1;
}

static struct table* look(void) {
  size_t size, length;
  char* text = read_whole("/proc/self/maps", &size, &length);
  if (!text) return NULL;
  size_t lines = 0;
  for (const char* at = text; *at; at++) lines += *at == '\n';
  struct table* table = sys_memory(sizeof *table + lines * sizeof(struct image));
  if (!table) {
    sys_unmap(text, size);
    return NULL;
  }
  uintptr_t first_page = 0; /* where the file of the lines at hand is mapped from its start */
  const char* first_path = "";
  struct image image;
  char permissions[4];
  for (char* at = text; *at && table->count < lines && parse_line(&at, &image, permissions);) {
    if (image.offset == 0 && permissions[0] == 'r' && !text_equal(first_path, image.path)) {
      first_page = image.start;
      first_path = image.path;
    }
    if (permissions[2] != 'x') continue;
    image.kind = image_kind(image.path);
    image.identity = image.kind != NS_IMAGE_OTHER && text_equal(first_path, image.path)
                         ? text_hash((const char*)first_page, NS_IDENTITY_BYTES)
                         : 0;
    table->images[table->count++] = image;
  }
  return table;
}

static const struct image* search(const struct table* table, uintptr_t address) {
  size_t low = 0, high = table->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (address >= table->images[middle].end) {
      low = middle + 1;
    } else if (address < table->images[middle].start) {
      high = middle;
    } else {
      return &table->images[middle];
    }
  }
  return NULL;
}

const struct image* image_at(uintptr_t address, int look_again) {
  struct table* table = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
  const struct image* found = table ? search(table, address) : NULL;
  if (found || (table && !look_again)) return found;
  struct table* newer = look();
  if (!newer) return NULL;
  __atomic_store_n(&current, newer, __ATOMIC_RELEASE);
  return search(newer, address);
}

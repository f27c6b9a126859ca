/* Texts without libc. */
#ifndef NAMESAKE_HOOK_TEXT_H
#define NAMESAKE_HOOK_TEXT_H

#include <stddef.h>
#include <stdint.h>

size_t text_length(const char* text);
int text_equal(const char* a, const char* b);
int text_starts(const char* text, const char* prefix);
void text_copy(char* to, const char* from, size_t count);
/* Appends at `at`, never beyond `end`, and returns where it stopped; always leaves a zero. */
char* text_append(char* at, const char* end, const char* text);
char* text_append_number(char* at, const char* end, uint64_t number);

uint64_t text_hash(const char* text, size_t length);

/* Shell globs over the whole text: * ? [a-z] [!a-z]. */
int text_glob(const char* pattern, const char* text);

/* What strstr answers. */
char* text_find(const char* haystack, const char* needle);
/* What memmem answers. */
const char* text_find_bytes(const char* haystack, size_t size, const char* needle, size_t length);

#endif

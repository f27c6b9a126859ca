#ifndef NAMESAKE_HOOK_NAME_H
#define NAMESAKE_HOOK_NAME_H

#include <stddef.h>

/* The qualified name of a mangled symbol, "ns::outer::kernel", without template arguments and
 * parameters; 0 if it is no mangled name or one of the forms not decoded here. */
int name_qualified(const char* symbol, char* to, size_t room);

#endif

/*
 * The files of the web clients, `clients/` of the repository, as they are in the binary.
 */
#ifndef PARLEY_WEB_FILES_H
#define PARLEY_WEB_FILES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  /* The path below `clients/`, such as "web/app.js". */
  const char *path;
  const uint8_t *bytes;
  size_t byte_count;
} parley_web_file;

/* All files; they live as long as the program. */
const parley_web_file *parley_web_file_list(void);
extern const size_t parley_web_file_count;

#endif

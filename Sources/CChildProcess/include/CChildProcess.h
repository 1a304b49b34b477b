#pragma once

#include <spawn.h>

/// The child has no descriptor from `first` on (glibc 2.34, musl has none): Swift does not see what is only of GNU.
int parley_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

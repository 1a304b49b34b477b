#pragma once

/// Returns the first digits of the commit from which a release build was made, and an empty string in other builds.
const char *parley_commit(void);

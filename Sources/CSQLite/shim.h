#include <sqlite3.h>

/* Swift cannot call functions with variable arguments. */
static inline int sqlite3_config_memstatus(int isCounted) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, isCounted); }

#include <sqlite3.h>

/* Swift cannot call functions with variable arguments. */
static inline int sqlite3_config_memstatus(int isCounted) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, isCounted); }
static inline int sqlite3_keep_log_on_close(sqlite3 *db) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

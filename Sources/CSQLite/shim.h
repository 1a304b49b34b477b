#include <fcntl.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Swift cannot call functions with variable arguments. */
static inline int sqlite3_config_memstatus(int isCounted) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, isCounted); }
static inline int sqlite3_keep_log_on_close(sqlite3 *db) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

/* Writes the dirty pages of a file to the disk and waits for them, without the file system's journal and without flushing
   the disk's cache (sync_file_range(2)), which the C library declares for GNU programs alone, as it does the flags: 7 is
   WAIT_BEFORE, WRITE and WAIT_AFTER. Returns 0, or -1. */
static inline int write_back(const char *path) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  long code = syscall(SYS_sync_file_range, file, (long)0, (long)0, 7);
  close(file);
  return code == 0 ? 0 : -1;
}

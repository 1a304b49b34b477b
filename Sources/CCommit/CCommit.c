#include "CCommit.h"

#define TEXT_OF(argument) #argument
#define TEXT(macro) TEXT_OF(macro)

const char *parley_commit(void) {
#ifdef PARLEY_COMMIT
  return TEXT(PARLEY_COMMIT);
#else
  return "";
#endif
}

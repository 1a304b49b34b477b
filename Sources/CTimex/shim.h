// The state of the system's clock, which Swift's Glibc leaves out.
#include <sys/timex.h>

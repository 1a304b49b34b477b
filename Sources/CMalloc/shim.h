// The allocator's own functions, which Swift's Glibc leaves out.
#include <malloc.h>

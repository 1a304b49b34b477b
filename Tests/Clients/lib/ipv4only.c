/* A library that is preloaded into a server: the machine has no IPv6, as with the kernel's parameter ipv6.disable=1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol) {
  if (domain == AF_INET6) return errno = EAFNOSUPPORT, -1;
  return ((int (*)(int, int, int))dlsym(RTLD_NEXT, "socket"))(domain, type, protocol);
}

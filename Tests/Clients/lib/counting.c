/* A library that is preloaded into a server: it counts allocations and prints their number at the end, and what is allocated at the
   moment on SIGUSR2. */
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static atomic_ulong allocations;
static atomic_long kept, bytes;

static void add(atomic_long *sum, long number) { atomic_fetch_add_explicit(sum, number, memory_order_relaxed); }

static void *take(void *block) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  if (block) add(&kept, 1), add(&bytes, malloc_usable_size(block));
  return block;
}

static void give(void *block) { if (block) add(&kept, -1), add(&bytes, -(long)malloc_usable_size(block)); }

void *malloc(size_t size) { return take(__libc_malloc(size)); }
void *calloc(size_t number, size_t size) { return take(__libc_calloc(number, size)); }
void *realloc(void *block, size_t size) { give(block); return take(__libc_realloc(block, size)); }
void *memalign(size_t alignment, size_t size) { return take(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return take(__libc_memalign(alignment, size)); }
int posix_memalign(void **block, size_t alignment, size_t size) {
  *block = take(__libc_memalign(alignment, size));
  return *block ? 0 : 12;
}
void free(void *block) { give(block); __libc_free(block); }

static void tellKept(int signal) {
  char line[80];
  int count = snprintf(line, sizeof line, "kept: %ld allocations, %ld bytes\n", atomic_load(&kept), atomic_load(&bytes));
  if (write(2, line, count) < 0) _exit(1);
}

__attribute__((constructor)) static void listen(void) { signal(SIGUSR2, tellKept); }

/* The mask is copied since valgrind 3.19 writes into it, and libdispatch's is in memory that cannot be written. */
int sigsuspend(const sigset_t *mask) {
  sigset_t copy = *mask;
  return syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
}

__attribute__((destructor)) static void tell(void) { fprintf(stderr, "allocations: %lu\n", atomic_load(&allocations)); }

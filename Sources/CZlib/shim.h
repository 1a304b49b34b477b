#include <zlib.h>

/* Swift cannot call macros. 16 added to the window's bits writes the format of gzip (RFC 1952). */
static inline int parley_gzip_begin(z_stream *stream) {
  return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY);
}

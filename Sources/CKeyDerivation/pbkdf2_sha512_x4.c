#define _DEFAULT_SOURCE /* explicit_bzero */
#include "CKeyDerivation.h"

#if defined(__x86_64__)

#include <string.h>

/* Four 64-bit words, one of each password's hash. */
typedef uint64_t lanes __attribute__((vector_size(32)));

/* The file is compiled for any x86-64; only these functions may use AVX2, and only after the processor was asked. */
#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE AVX2 __attribute__((always_inline)) static inline

/* Values of the computation, in one place so that one call clears them. */
struct computation {
  /* Hash states after the inner and the outer pad of HMAC: what every round begins with. */
  lanes inner[8], outer[8];
  /* The hash of the moment, the exclusive or of all rounds, and the message block that the schedule rolls over. */
  lanes state[8], sum[8], block[16];
};

/* FIPS 180-4 4.2.3 */
static const uint64_t constants[80] = {
  0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
  0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
  0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
  0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
  0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
  0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
  0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
  0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
  0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
  0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
  0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
  0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
  0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
  0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
  0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
  0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

/* FIPS 180-4 5.3.5 */
static const uint64_t initial_state[8] = {
  0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
  0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

AVX2_INLINE lanes rotate_right(lanes x, int bits) { return x >> bits | x << (64 - bits); }

/* The functions of FIPS 180-4 4.1.3. */
AVX2_INLINE lanes sum_0(lanes x) { return rotate_right(x, 28) ^ rotate_right(x, 34) ^ rotate_right(x, 39); }
AVX2_INLINE lanes sum_1(lanes x) { return rotate_right(x, 14) ^ rotate_right(x, 18) ^ rotate_right(x, 41); }
AVX2_INLINE lanes sigma_0(lanes x) { return rotate_right(x, 1) ^ rotate_right(x, 8) ^ x >> 7; }
AVX2_INLINE lanes sigma_1(lanes x) { return rotate_right(x, 19) ^ rotate_right(x, 61) ^ x >> 6; }
AVX2_INLINE lanes choose(lanes x, lanes y, lanes z) { return z ^ (x & (y ^ z)); }
AVX2_INLINE lanes majority(lanes x, lanes y, lanes z) { return (x & y) | (z & (x | y)); }

/* One round, FIPS 180-4 6.4.2 step 3, with the renaming of the eight variables left to the caller. */
#define ROUND(a, b, c, d, e, f, g, h, index) \
  do { \
    h += sum_1(e) + choose(e, f, g) + (block[index] + constants[offset + (index)]); \
    d += h; \
    h += sum_0(a) + majority(a, b, c); \
  } while (0)

#define EIGHT_ROUNDS(index) \
  do { \
    ROUND(a, b, c, d, e, f, g, h, (index)); \
    ROUND(h, a, b, c, d, e, f, g, (index) + 1); \
    ROUND(g, h, a, b, c, d, e, f, (index) + 2); \
    ROUND(f, g, h, a, b, c, d, e, (index) + 3); \
    ROUND(e, f, g, h, a, b, c, d, (index) + 4); \
    ROUND(d, e, f, g, h, a, b, c, (index) + 5); \
    ROUND(c, d, e, f, g, h, a, b, (index) + 6); \
    ROUND(b, c, d, e, f, g, h, a, (index) + 7); \
  } while (0)

/* One block into a state (FIPS 180-4 6.4.2). The block is used up: the schedule's 80 words roll over its 16. */
AVX2 __attribute__((noinline)) static void compress(lanes state[8], lanes block[16]) {
  lanes a = state[0], b = state[1], c = state[2], d = state[3];
  lanes e = state[4], f = state[5], g = state[6], h = state[7];
  for (int offset = 0;; offset += 16) {
    EIGHT_ROUNDS(0);
    EIGHT_ROUNDS(8);
    if (offset == 64) break;
#pragma clang loop unroll(full)
    for (int index = 0; index < 16; index++) {
      block[index] += sigma_0(block[(index + 1) & 15]) + block[(index + 9) & 15] + sigma_1(block[(index + 14) & 15]);
    }
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

AVX2_INLINE lanes broadcast(uint64_t word) { return (lanes){word, word, word, word}; }

static inline uint64_t big_endian(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return __builtin_bswap64(word);
}

/* The state after one block of four HMAC keys under a pad (RFC 2104 2). */
AVX2 static void begin(lanes state[8], lanes block[16], const uint8_t *key_blocks, uint8_t pad) {
  for (int index = 0; index < 8; index++) state[index] = broadcast(initial_state[index]);
  for (int index = 0; index < 16; index++) {
    for (int lane = 0; lane < parley_lane_count; lane++) {
      block[index][lane] = big_endian(key_blocks + parley_key_block_byte_count * lane + 8 * index);
    }
    block[index] ^= broadcast(0x0101010101010101 * (uint64_t)pad);
  }
  compress(state, block);
}

/* Hashes the 64 bytes of a state as the last block of a message, after one block of pad; the result replaces them. */
AVX2_INLINE void finish(lanes state[8], const lanes pad[8], lanes block[16]) {
  for (int index = 0; index < 8; index++) {
    block[index] = state[index];
    state[index] = pad[index];
  }
  block[8] = broadcast((uint64_t)1 << 63);
  for (int index = 9; index < 15; index++) block[index] = broadcast(0);
  block[15] = broadcast(8 * (parley_key_block_byte_count + parley_derived_key_byte_count));
  compress(state, block);
}

AVX2 static void derive(
    struct computation *now, const uint8_t *key_blocks, const uint8_t *salts, size_t salt_byte_count, uint32_t rounds,
    uint8_t *derived_keys) {
  begin(now->inner, now->block, key_blocks, 0x36);
  begin(now->outer, now->block, key_blocks, 0x5c);

  /* The first round hashes the salt and the number of PBKDF2's block, which is one (RFC 8018 5.2). */
  for (int lane = 0; lane < parley_lane_count; lane++) {
    uint8_t message[128] = {0};
    memcpy(message, salts + salt_byte_count * lane, salt_byte_count);
    message[salt_byte_count + 3] = 1;
    message[salt_byte_count + 4] = 0x80;
    for (int index = 0; index < 15; index++) now->block[index][lane] = big_endian(message + 8 * index);
    now->block[15][lane] = 8 * (parley_key_block_byte_count + salt_byte_count + 4);
  }
  memcpy(now->state, now->inner, sizeof now->state);
  compress(now->state, now->block);
  finish(now->state, now->outer, now->block);
  memcpy(now->sum, now->state, sizeof now->sum);

  for (uint32_t round = 1; round < rounds; round++) {
    finish(now->state, now->inner, now->block);
    finish(now->state, now->outer, now->block);
    for (int index = 0; index < 8; index++) now->sum[index] ^= now->state[index];
  }

  for (int lane = 0; lane < parley_lane_count; lane++) {
    for (int index = 0; index < 8; index++) {
      uint64_t word = __builtin_bswap64(now->sum[index][lane]);
      memcpy(derived_keys + parley_derived_key_byte_count * lane + 8 * index, &word, sizeof word);
    }
  }
}

bool parley_pbkdf2_sha512_x4_is_available(void) { return __builtin_cpu_supports("avx2"); }

bool parley_pbkdf2_sha512_x4(
    const uint8_t key_blocks[parley_lane_count * parley_key_block_byte_count],
    const uint8_t *salts, size_t salt_byte_count, uint32_t rounds,
    uint8_t derived_keys[parley_lane_count * parley_derived_key_byte_count]) {
  if (rounds == 0 || salt_byte_count > parley_salt_byte_count_max) return false;
  if (!parley_pbkdf2_sha512_x4_is_available()) return false;
  struct computation now;
  derive(&now, key_blocks, salts, salt_byte_count, rounds, derived_keys);
  /* Pads and states are as good as the password. Registers, and what the compiler spilt of them, are not reached. */
  explicit_bzero(&now, sizeof now);
  return true;
}

#else

bool parley_pbkdf2_sha512_x4_is_available(void) { return false; }

bool parley_pbkdf2_sha512_x4(
    const uint8_t key_blocks[parley_lane_count * parley_key_block_byte_count],
    const uint8_t *salts, size_t salt_byte_count, uint32_t rounds,
    uint8_t derived_keys[parley_lane_count * parley_derived_key_byte_count]) {
  (void)key_blocks, (void)salts, (void)salt_byte_count, (void)rounds, (void)derived_keys;
  return false;
}

#endif

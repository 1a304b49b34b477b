/*
 * PBKDF2-HMAC-SHA-512 (RFC 8018 5.2, RFC 2104, FIPS 180-4) of four passwords at once, one in each 64-bit lane of
 * AVX2's registers, for importing users by the thousand.
 *
 * Why this stands beside a library: in PBKDF2 each hash waits for the one before, so that a library, asked for one
 * password at a time, cannot fill the lanes. BoringSSL then hashes SHA-512 on AMD with its scalar code: that was 57 %
 * of all processor time of `parley user import`, and these lanes need a third of it. SHA-1 and SHA-256 have
 * instructions of their own and stay with the library. Figures: docs/decisions/0007-four-lanes-of-sha-512.md.
 *
 * What comes out must equal the library's PBKDF2 byte for byte (Tests/DialogsTests/KeyDerivationTests.swift). Where
 * this is not available the caller derives with the library instead; nothing but speed depends on it.
 */
#ifndef PARLEY_KEY_DERIVATION_H
#define PARLEY_KEY_DERIVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  /* Passwords derived at once. */
  parley_lane_count = 4,
  /* Length of an HMAC-SHA-512 key block in bytes: the hash's block. */
  parley_key_block_byte_count = 128,
  /* Length of what is derived for each password, in bytes: one block of PBKDF2. */
  parley_derived_key_byte_count = 64,
  /* The longest salt, in bytes: with PBKDF2's block number and the padding it must fit into one block of the hash. */
  parley_salt_byte_count_max = 64,
};

/* Whether this processor, under this kernel, can do it: x86-64 with AVX2. */
bool parley_pbkdf2_sha512_x4_is_available(void);

/*
 * Derives four keys. No secret decides a branch or an address.
 *
 * key_blocks: four HMAC keys as RFC 2104 2 prepares them, one after the other: a password of at most 128 bytes, or the
 *   SHA-512 of a longer one, filled up with zeros to 128 bytes.
 * salts: four salts, one after the other, each of salt_byte_count bytes (at most parley_salt_byte_count_max).
 * rounds: PBKDF2's iteration count, at least 1.
 * derived_keys: receives four keys of 64 bytes, one after the other.
 *
 * Returns false, and leaves derived_keys alone, where a bound is not kept or the processor cannot do it.
 */
bool parley_pbkdf2_sha512_x4(
    const uint8_t key_blocks[parley_lane_count * parley_key_block_byte_count],
    const uint8_t *salts, size_t salt_byte_count, uint32_t rounds,
    uint8_t derived_keys[parley_lane_count * parley_derived_key_byte_count]);

#endif

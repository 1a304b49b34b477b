/// The proof of work for a new account: a text that begins with the challenge, and whose SHA-256 ends in the bits of the target.
///
/// SHA-256 is here because Foundation has none on Linux, and because what precedes the number that is counted up is hashed once.
struct Proof: Sendable {
  private let value: UInt32
  private let mask: UInt32
  /// The challenge, with hyphens up to the end of a block of 64 bytes.
  private let beginning: [UInt8]
  private let state: [UInt32]
  private static let digits = 10

  /// Returns `nil` for a target that is no number of at most 24 bits: a server with such a one would keep a telephone busy.
  init?(challenge: String, target: String) {
    guard let value = UInt32(target, radix: 16), (1..<(1 << 24)).contains(value) else { return nil }
    self.value = value
    mask = UInt32.max &>> UInt32(value.leadingZeroBitCount)
    var bytes = Array(challenge.utf8)
    while bytes.count % 64 != 0 { bytes.append(UInt8(ascii: "-")) }
    beginning = bytes
    var hash = SHA256Block()
    for start in stride(from: 0, to: bytes.count, by: 64) { hash.compress(bytes[start..<start + 64]) }
    state = hash.state
  }

  /// Computes a proof, away from the actor of the caller.
  func compute() async throws -> String {
    let task = Task.detached { try self.find() }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func find() throws -> String {
    // The number, the end of the text, and the bits of the whole text (FIPS 180-4 5.1.1).
    var block = [UInt8](repeating: 0, count: 64)
    block[Self.digits] = 0x80
    var bits = (beginning.count + Self.digits) * 8
    for place in (56..<64).reversed() {
      block[place] = UInt8(truncatingIfNeeded: bits)
      bits >>= 8
    }
    for place in 0..<Self.digits { block[place] = UInt8(ascii: "0") }
    var hash = SHA256Block()
    var tries = 0
    while true {
      hash.state = state
      hash.compress(block[...])
      if hash.state[7] & mask == value {
        return String(decoding: beginning + block[..<Self.digits], as: UTF8.self)
      }
      tries += 1
      if tries % 10_000 == 0 { try Task.checkCancellation() }
      var place = Self.digits - 1
      while block[place] == UInt8(ascii: "9") {
        block[place] = UInt8(ascii: "0")
        place -= 1
      }
      block[place] += 1
    }
  }
}

/// The compression of SHA-256 (FIPS 180-4 6.2.2). Shifts that mask are fast without optimization, too.
struct SHA256Block {
  /// At first the beginning of 5.3.3.
  var state: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]
  private var words = [UInt32](repeating: 0, count: 64)

  /// 4.2.2.
  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]

  private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word &>> count | word &<< (32 - count) }

  /// - Parameter block: 64 bytes.
  mutating func compress(_ block: ArraySlice<UInt8>) {
    var place = block.startIndex
    for t in 0..<16 {
      var word: UInt32 = 0
      for _ in 0..<4 {
        word = word &<< 8 | UInt32(block[place])
        place += 1
      }
      words[t] = word
    }
    for t in 16..<64 {
      let (x, y) = (words[t - 15], words[t - 2])
      let first = Self.rotated(x, 7) ^ Self.rotated(x, 18) ^ (x &>> 3)
      let second = Self.rotated(y, 17) ^ Self.rotated(y, 19) ^ (y &>> 10)
      words[t] = second &+ words[t - 7] &+ first &+ words[t - 16]
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for t in 0..<64 {
      let large = Self.rotated(e, 6) ^ Self.rotated(e, 11) ^ Self.rotated(e, 25)
      let choice = (e & f) ^ (~e & g)
      let one = h &+ large &+ choice &+ Self.constants[t] &+ words[t]
      let small = Self.rotated(a, 2) ^ Self.rotated(a, 13) ^ Self.rotated(a, 22)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ one, c, b, a, one &+ small &+ majority)
    }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
    state[5] &+= f
    state[6] &+= g
    state[7] &+= h
  }
}

/// A filter for hashes that the table `origins` certainly lacks: nearly every id is new, and in long dialogs a lookup in
/// the table costs a page read for each message.
///
/// Theory. It is a Bloom filter in memory whose bits for one hash are in one word, so that a lookup reads one word. It is
/// built from the table while the server runs: each lookup that it cannot answer yet reads a few more rows. Rows written
/// to the table are added to it, whether or not the transaction succeeds, and deleted rows stay in it: both only cause
/// some more answers of "perhaps". A filter with as many hashes as bytes is rebuilt at double the size, and answers until
/// then. At the largest size it answers "perhaps" for 3 % of the new ids with eight million known ids, for 16 % with
/// sixteen million, and for half with thirty million.
///
/// States: one is being built; one is complete; one is complete and its successor is being built.
struct OriginFilter {
  struct Key: Hashable {
    var dialog: Int64
    var hash: Int32
  }

  private struct Bits {
    var words: [UInt64]
    var count = 0

    init(bytes: Int) { words = Array(repeating: 0, count: bytes / 8) }

    var isFull: Bool { count >= words.count * 8 }

    /// Returns one of 2^n words, selected by the upper bits, and a mask of four bits in it, selected by the lower ones.
    private func place(_ key: Key) -> (word: Int, mask: UInt64) {
      var mixed = UInt64(bitPattern: key.dialog) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(UInt32(bitPattern: key.hash))
      mixed = (mixed ^ mixed >> 32) &* 0xD6E8_FEB8_6659_FD93
      mixed = (mixed ^ mixed >> 32) &* 0xD6E8_FEB8_6659_FD93
      let mask = UInt64(1) << (mixed & 63) | 1 << (mixed >> 6 & 63) | 1 << (mixed >> 12 & 63) | 1 << (mixed >> 18 & 63)
      return (Int(truncatingIfNeeded: mixed >> 32) & (words.count - 1), mask)
    }

    func mayHave(_ key: Key) -> Bool {
      let (word, mask) = place(key)
      return words[word] & mask == mask
    }

    mutating func add(_ key: Key) {
      let (word, mask) = place(key)
      words[word] |= mask
      count += 1
    }
  }

  private var whole: Bits?
  /// The filter being built, with all rows up to a key, and later rows that were written meanwhile.
  private var made: (bits: Bits, after: Key)?
  private let bytesMax: Int

  /// Creates a filter for a table of about `ids` rows.
  init(ids: Int64, bytesMin: Int = StoreLimits.filterBytesMin, bytesMax: Int = StoreLimits.filterBytesMax) {
    self.bytesMax = bytesMax
    var bytes = bytesMin
    while bytes < bytesMax, Int64(bytes) < ids { bytes *= 2 }
    made = (Bits(bytes: bytes), Self.start)
  }

  private static let start = Key(dialog: .min, hash: .min)

  /// The size of both filters, in bytes.
  var size: Int { ((whole?.words.count ?? 0) + (made?.bits.words.count ?? 0)) * 8 }

  func mayHave(_ key: Key) -> Bool { whole?.mayHave(key) ?? true }

  /// Notes that a key is in the table from now on.
  mutating func add(_ key: Key) {
    made?.bits.add(key)
    whole?.add(key)
    guard made == nil, let whole, whole.isFull, whole.words.count * 8 < bytesMax else { return }
    made = (Bits(bytes: whole.words.count * 16), Self.start)
  }

  /// The key behind which rows must be read next.
  var wanted: Key? { made?.after }

  /// Adds rows that were read. `isLast` means that there are no more.
  mutating func read(_ keys: [Key], isLast: Bool) {
    for key in keys { made?.bits.add(key) }
    if let last = keys.last { made?.after = last }
    guard isLast, let bits = made?.bits else { return }
    whole = bits
    made = nil
  }
}

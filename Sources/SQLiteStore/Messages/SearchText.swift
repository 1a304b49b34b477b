import Addresses
import Dialogs

/// The words of a text in the form of the search index, each as ten letters. Theory:
///
/// A word is a run of letters, digits and marks, folded (`TextFolding`). Scripts without spaces between words (Chinese,
/// Japanese, Thai and their neighbours), Korean, whose words grow endings, and emoji count character by character; a
/// search for them then finds that sequence, wherever words begin.
///
/// The index holds not the words, but a hash of 50 bits of each, salted for the file. The engine's index is written in
/// layers, and deleted words stay in older layers until they are merged (the oldest supported version cannot overwrite
/// them), so with hashes no retracted text can be read in the file. An attacker who has the whole file can still guess
/// words. Two words in a million billion have the same hash.
struct SearchText {
  let salt: Digest64

  /// The bits of a word in the index: ten letters of five bits.
  private static let wordBits = UInt64(1) << 50 - 1

  /// Returns the words of a text; for a long text those of its beginning.
  func words(of text: String) -> [UInt64] {
    var words: [UInt64] = []
    forEachWord(in: text) { word in
      words.append(digest(of: word))
      return words.count < StoreLimits.searchTokensMax
    }
    return words
  }

  /// Returns the tokens of a text, separated by spaces.
  func tokens(of text: String) -> String { Self.tokens(words(of: text)) }

  /// Returns the words of a query, adjacent ones as a phrase; empty if the query has no word.
  func phrases(of query: String) -> [[UInt64]] {
    var count = 0
    return query.split(whereSeparator: \.isWhitespace)
      .compactMap { part -> [UInt64]? in
        var phrase: [UInt64] = []
        forEachWord(in: String(part)) { word in
          count += 1
          if count > StoreLimits.searchWordsMax { return false }
          phrase.append(digest(of: word))
          return true
        }
        return phrase.isEmpty ? nil : phrase
      }
  }

  /// Returns the engine's expression for all of the phrases. Input reaches the engine only as tokens, never as its syntax.
  static func expression(_ phrases: [[UInt64]]) -> String {
    phrases.map { "text:\"\(tokens($0))\"" }.joined(separator: " AND ")
  }

  /// Returns whether a text has all of the phrases, as the engine does.
  func contains(_ phrases: [[UInt64]], in text: String) -> Bool {
    let words = words(of: text)
    return phrases.allSatisfy { phrase in words.indices.contains { words[$0...].starts(with: phrase) } }
  }

  private func digest(of word: [Unicode.Scalar]) -> UInt64 {
    var digest = salt
    for scalar in word { withUnsafeBytes(of: scalar.value.littleEndian) { digest.combine($0) } }
    return digest.finish() & Self.wordBits
  }

  private static func tokens(_ words: [UInt64]) -> String {
    var line = ""
    line.reserveCapacity(words.count * 11)
    for word in words {
      if !line.isEmpty { line.append(" ") }
      var bits = word
      for _ in 0..<10 {
        let digit = UInt8(bits & 31)
        // The digits are a to z, 2 to 7.
        line.unicodeScalars.append(Unicode.Scalar(digit < 26 ? 97 + digit : 24 + digit))
        bits >>= 5
      }
    }
    return line
  }

  /// Calls `body` with the words of the first `StoreLimits.searchTextBytesMax` bytes, until it returns `false`. Later text is not
  /// folded, since folding can turn one scalar into eighteen.
  private func forEachWord(in text: String, _ body: ([Unicode.Scalar]) -> Bool) {
    var word: [Unicode.Scalar] = []
    var folded: [Unicode.Scalar] = []
    var bytesLeft = StoreLimits.searchTextBytesMax
    for scalar in text.unicodeScalars {
      bytesLeft -= UTF8.width(scalar)
      // An incomplete last word does not count.
      if bytesLeft < 0 { return }
      folded.removeAll(keepingCapacity: true)
      TextFolding.append(scalar, to: &folded)
      for scalar in folded {
        let kind = Self.kind(of: scalar)
        if kind != .part, !word.isEmpty {
          guard body(word) else { return }
          word.removeAll(keepingCapacity: true)
        }
        if kind == .between { continue }
        word.append(scalar)
        guard kind == .alone else { continue }
        guard body(word) else { return }
        word.removeAll(keepingCapacity: true)
      }
    }
    if !word.isEmpty { _ = body(word) }
  }

  /// Returns a digest that begins with the file's salt (`Reader.salt()`).
  static func salted(_ salt: Int64) -> Digest64 {
    var digest = Digest64()
    withUnsafeBytes(of: salt.littleEndian) { digest.combine($0) }
    return digest
  }

  private enum Kind { case part, alone, between }

  private static func kind(of scalar: Unicode.Scalar) -> Kind {
    switch scalar.value {
    case 0x30...0x39, 0x61...0x7A: return .part
    case ..<0x80: return .between
    // Thai, Lao, Tibetan, Burmese; Hangul letters (folded syllables); Khmer.
    case 0xE00...0xFFF, 0x1000...0x109F, 0x1100...0x11FF, 0x1780...0x17FF: return isWord(scalar) ? .alone : .between
    // Kana, Bopomofo, Han with its extensions.
    case 0x3005...0x3007, 0x3040...0x31FF, 0x3400...0x9FFF, 0xF900...0xFAFF, 0x2_0000...0x3_FFFF:
      return isWord(scalar) ? .alone : .between
    default:
      if isWord(scalar) { return .part }
      return scalar.properties.generalCategory == .otherSymbol ? .alone : .between
    }
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber, .otherNumber, .nonspacingMark, .spacingMark, .enclosingMark, .privateUse:
      true
    default: false
    }
  }
}

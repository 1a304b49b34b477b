import Foundation
import Testing

@testable import Addresses

/// What `Tests/Vectors/names.json` holds of nicks; what the web client marks is held to it by
/// `Tests/Clients/web_everyday.py`.
private struct Vectors: Decodable {
  struct Pair: Decodable {
    let nick: String
    /// A nick that somebody has.
    let held: String
    let isCopy: Bool

    init(from decoder: any Decoder) throws {
      var values = try decoder.unkeyedContainer()
      nick = try values.decode(String.self)
      held = try values.decode(String.self)
      isCopy = try values.decode(Bool.self)
    }
  }

  let nicks: [Pair]

  static func read() throws -> Vectors {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: tests.appending(path: "Vectors/names.json")))
  }
}

@Suite struct NickLookTests {
  @Test func vectors() throws {
    let pairs = try Vectors.read().nicks
    #expect(pairs.count { $0.isCopy } > 10 && pairs.count { !$0.isCopy } > 10)
    for pair in pairs {
      let nick = NickLook(try Precis.nickname(pair.nick))
      let held = NickLook(try Precis.nickname(pair.held))
      #expect(nick.isCopy(of: held) == pair.isCopy, "\(pair.nick), \(pair.held)")
    }
  }

  private func skeleton(_ text: String) -> String {
    Precis.makeString(NickLook.skeleton(of: Array(text.unicodeScalars)))
  }

  @Test func skeletons() {
    // UTS #39, 4: several sources, a prototype of several characters, a source with a decomposition, marks in order.
    for (text, wanted) in [
      ("\u{455}\u{441}\u{43E}\u{440}\u{435}", "scope"), ("m", "rn"), ("I1|l", "llll"), ("\u{F8}", "o\u{338}"),
      ("\u{451}", "e\u{308}"), ("\u{4D7}", "e\u{306}"), ("a\u{301}\u{323}", "a\u{323}\u{301}"), ("\u{200D}a", "a"),
      ("\u{E9}", "e\u{301}"), ("\u{D55C}", "\u{1112}\u{1161}\u{11AB}"), ("\u{1D43}", "\u{1D43}"),
    ] {
      #expect(Array(skeleton(text).unicodeScalars) == Array(wanted.unicodeScalars), "\(text)")
    }
  }

  /// UTS #39, 5.2: one script, or those of East Asia with Latin.
  @Test func mixedScripts() {
    for name in ["alice", "\u{43C}\u{430}\u{448}\u{430}", "a1-b_2.c", "\u{6F22}\u{3072}\u{30AB}a", "\u{D55C}a", "42"] {
      #expect(!NickLook.isMixed(name), "\(name)")
    }
    for name in ["\u{430}lice", "a\u{3BF}", "\u{43C}\u{6F22}", "\u{5D0}a"] {
      #expect(NickLook.isMixed(name), "\(name)")
    }
  }

  /// The web client's letters are a part of the same prototypes, without marks.
  @Test func theWebClientHasTheSameLetters() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = try String(contentsOf: root.appending(path: "clients/web/lookalikes.js"), encoding: .utf8)
    #expect(file.contains("from Unicode \(UnicodeTables.version)."))
    // By scalars: a letter that begins a cluster takes the space behind it into the same character.
    let groups = file.split(separator: "\"")[1].unicodeScalars.split(separator: " ").map { Array($0) }
    #expect(groups.count > 150)
    for group in groups {
      let colon = group.firstIndex(of: ":")
      let prototype = Array(group[..<(colon ?? 1)])
      for letter in group[(colon.map { $0 + 1 } ?? 1)...] {
        let found = Normalization.formKD(NickLook.skeleton(of: [letter])).filter { scalar in
          switch scalar.properties.generalCategory {
          case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
          case .decimalNumber, .letterNumber, .otherNumber: true
          default: false
          }
        }
        #expect(found == prototype, "\(letter)")
      }
    }
  }

  @Test func scriptsThatAreWrittenTogetherAreOne() {
    // Han and Katakana beside a Latin letter that looks like a Han one: the first is of one script, the second of two.
    let japanese = NickLook("\u{4E00}\u{30CB}")
    let mixed = NickLook("\u{A7F7}\u{4E8C}")
    #expect(!japanese.isCopy(of: mixed))
    #expect(mixed.isCopy(of: japanese))
    // Digits, gaps and marks have none.
    #expect(!NickLook("\u{41E}\u{441}\u{430} 2").isCopy(of: NickLook("Oca 2")))
    #expect(!NickLook("\u{401}\u{441}\u{430}").isCopy(of: NickLook("\u{CB}ca")))
    // A nick of two scripts can be copied, too.
    #expect(NickLook("D\u{408} \u{421}\u{430}\u{448}\u{430}").isCopy(of: NickLook("DJ \u{421}\u{430}\u{448}\u{430}")))
  }
}

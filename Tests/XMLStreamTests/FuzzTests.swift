import Basics
import Glibc
import Testing

@testable import XMLStream

/// The scanner against libxml2, and the scanner against itself with the input
/// cut: seeds are fixed, so a failure repeats. `PARLEY_FUZZ_SECONDS=60` goes on
/// for so long, with seeds that follow on the fixed ones.
@Suite struct FuzzTests {
  /// Cases of a plain run.
  private static let cases: UInt64 = 20_000
  private static let firstSeed: UInt64 = 0x5EED_0000

  private static let seconds = getenv("PARLEY_FUZZ_SECONDS").flatMap { Int(String(cString: $0)) }

  @Test func agreesWithLibXML2() {
    let clock = ContinuousClock()
    let deadline = Self.seconds.map { clock.now + .seconds($0) }
    var number: UInt64 = 0
    var (accepted, compared) = (0, 0)
    while deadline.map({ clock.now < $0 }) ?? (number < Self.cases) {
      let seed = Self.firstSeed &+ number
      number += 1
      var mutation = Mutation(seed: seed)
      let bytes = mutation.document()
      switch Comparison(bytes) {
      case .agrees(let isAccepted):
        compared += 1
        accepted += isAccepted ? 1 : 0
      case .notComparable: break
      case .differs(let why):
        Issue.record("seed \(seed): \(why)\n\(String(reflecting: String(decoding: bytes, as: UTF8.self)))\n\(bytes)")
        return
      }
      if let why = CutComparison.difference(bytes, seed: seed) {
        Issue.record(
          "seed \(seed), cut: \(why)\n\(String(reflecting: String(decoding: bytes, as: UTF8.self)))\n\(bytes)")
        return
      }
    }
    // A fuzzer that only makes rubbish, or only good documents, proves
    // nothing.
    #expect(compared > Int(number) * 8 / 10)
    #expect(accepted > compared / 10 && accepted < compared * 9 / 10)
  }

  @Test(arguments: Corpus.good)
  func agreesOnGoodDocuments(_ xml: String) {
    #expect(Comparison(Array(xml.utf8)) == .agrees(accepted: true))
  }

  @Test(arguments: Corpus.bad)
  func agreesOnBadDocuments(_ xml: String) {
    let comparison = Comparison(Array(xml.utf8))
    #expect(comparison == .agrees(accepted: false) || comparison == .notComparable)
  }
}

/// The scanner's view of a document beside libxml2's.
enum Comparison: Equatable {
  case agrees(accepted: Bool)
  case notComparable
  case differs(String)

  init(_ bytes: [UInt8]) {
    let verdict = Oracle.parse(bytes)
    do throws(XMLViolation) {
      let element = try Element(parsing: bytes, defaultNamespace: "", limits: .wide)
      if verdict.usesForbidden {
        self = .differs("accepted what RFC 6120 forbids")
      } else if let tree = verdict.tree {
        let own = Canonical.text(of: element)
        self = own == tree ? .agrees(accepted: true) : .differs("trees\n\(own)\n\(tree)")
        if let why = Self.roundTripFault(element) { self = .differs(why) }
      } else {
        self = .differs("accepted what libxml2 refuses")
      }
    } catch {
      if verdict.usesForbidden || verdict.tree == nil {
        self = .agrees(accepted: false)
      } else if error == .unsupportedEncoding,
        bytes.starts(with: "<?xml".utf8) || bytes.starts(with: "\u{FEFF}<?xml".utf8)
      {
        self = .notComparable
      } else {
        self = .differs("refused what libxml2 accepts: \(error)")
      }
    }
  }

  /// Written and read again, an element is the same, for us and for libxml2.
  private static func roundTripFault(_ element: Element) -> String? {
    let written = element.serialised(defaultNamespace: "")
    guard let again = try? Element(parsing: written, defaultNamespace: "", limits: .wide), again == element else {
      return "not the same when written: \(String(decoding: written, as: UTF8.self))"
    }
    guard Oracle.parse(written).tree == Canonical.text(of: element) else {
      return "not the same for libxml2 when written: \(String(decoding: written, as: UTF8.self))"
    }
    return nil
  }
}

/// The property that cuts do not matter.
enum CutComparison {
  /// Compares readings of a document within a stream: whole, by single bytes, by random cuts.
  static func difference(_ bytes: [UInt8], seed: UInt64) -> String? {
    let stream = Array(header.utf8) + bytes
    let whole = read(stream, limits: .authenticated)
    if read(stream, step: 1, limits: .authenticated) != whole { return "by single bytes" }
    let step = Int(seed % 23) + 2
    if read(stream, step: step, limits: .authenticated) != whole { return "by \(step) bytes" }
    let bare = read(bytes, limits: .authenticated)
    if read(bytes, step: 1, limits: .authenticated) != bare { return "as a stream, by single bytes" }
    return nil
  }
}

/// Makes documents: grows one from the grammar or takes one of the corpus, then
/// breaks it a little, or not.
struct Mutation {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  /// SplitMix64.
  private mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  private mutating func pick(_ count: Int) -> Int { Int(next() % UInt64(count)) }
  private mutating func pick<T>(_ list: [T]) -> T { list[pick(list.count)] }

  mutating func document() -> [UInt8] {
    var bytes: [UInt8]
    switch pick(8) {
    case 0: bytes = Array(pick(Corpus.bad).utf8)
    case 1, 2, 3: bytes = Array(pick(Corpus.good).utf8)
    default:
      var budget = 12
      bytes = Array(element(&budget).utf8)
    }
    for _ in 0..<[0, 0, 1, 1, 1, 2, 3, 6][pick(8)] { mutate(&bytes) }
    return bytes
  }

  private mutating func mutate(_ bytes: inout [UInt8]) {
    let at = boundary(bytes)
    switch pick(9) {
    case 0, 1, 2: bytes.insert(contentsOf: pick(Corpus.pieces).utf8, at: at)
    case 3:
      let end = boundary(bytes)
      bytes.removeSubrange(min(at, end)..<max(at, end))
    case 4:
      // A part twice, or elsewhere.
      let end = boundary(bytes)
      let part = Array(bytes[min(at, end)..<max(at, end)].prefix(60))
      bytes.insert(contentsOf: part, at: boundary(bytes))
    case 5:
      if !bytes.isEmpty { bytes.remove(at: pick(bytes.count)) }
    case 6:
      if !bytes.isEmpty { bytes[pick(bytes.count)] = UInt8(truncatingIfNeeded: next()) }
    case 7:
      let other = pick(pick(4) == 0 ? Corpus.bad : Corpus.good)
      bytes.insert(contentsOf: Array(other.utf8).prefix(pick(80)), at: at)
    default:
      if pick(3) == 0 {
        bytes.insert(contentsOf: pick(Corpus.broken), at: at)
      } else {
        bytes.insert(contentsOf: pick(Corpus.pieces).utf8, at: at)
      }
    }
  }

  /// A place in a document, mostly beside a byte of markup.
  private mutating func boundary(_ bytes: [UInt8]) -> Int {
    guard !bytes.isEmpty else { return 0 }
    let start = pick(bytes.count + 1)
    if pick(4) == 0 { return start }
    for at in start..<bytes.count where "<>='\"/&; :".utf8.contains(bytes[at]) { return at + pick(2) }
    return start
  }

  // MARK: The grammar

  private static let names = ["a", "b", "message", "p:a", "p:b", "q:c", "\u{E9}", "x1.-_"]
  private static let declarations = [
    "", "", "", " xmlns='u'", " xmlns=''", " xmlns:p='u'", " xmlns:p='v' xmlns:q='u'", " xmlns:q='w' xmlns='v'",
  ]
  private static let values = ["", "1", "a b", "&lt;", "&#10;", "\u{20AC}", "\t\n", "it&apos;s", ">", "\r\n", "]]>"]
  private static let texts = [
    "", " ", "text", "&amp;", "\u{1F600}\u{E9}", "]]", "<![CDATA[<&]]>", "<![CDATA[]]>", "\r\n\r", "&#x41;", ">",
    "long enough to pass a step of eight bytes",
  ]

  private mutating func element(_ budget: inout Int) -> String {
    budget -= 1
    // Prefixes are mostly declared at the root, so that most are bound.
    let isRoot = budget == 11
    let name = pick(Self.names)
    var tag = "<" + name + (isRoot && pick(8) != 0 ? " xmlns:p='r' xmlns:q='s'" : pick(Self.declarations))
    for attribute in ["id", "p:id", "q:id", "xml:lang", "to"] where pick(4) == 0 {
      tag += pick(["", "\n"]) + " " + attribute + pick(["=", " = "]) + "'" + pick(Self.values) + "'"
    }
    if pick(4) == 0 || budget <= 0 { return tag + pick(["/>", " />"]) }
    tag += pick([">", " >"])
    for _ in 0..<pick(4) {
      tag += pick(Self.texts)
      if budget > 0, pick(2) == 0 { tag += element(&budget) }
    }
    return tag + "</" + name + pick([">", "\n>"])
  }
}

import Glibc
import NIOCore
import XMLStream

/// Stanzas per CPU-second of the reader and of the writer: 5000 distinct chat
/// stanzas of 219 bytes on average, each with one entity, one character beyond
/// ASCII and one child of a namespace of its own, fed in chunks.
///
///     scanner-bench [rounds]
///
/// Allocations are counted from outside, by the difference of two runs:
/// `valgrind scanner-bench 1` and `valgrind scanner-bench 3` differ by 30,000
/// stanzas read (and, stripped of debug information, by 30,010 allocations).
@main
enum ScannerBench {
  static let header =
    "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"
  static let count = 5_000

  static func main() {
    let rounds = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1]) ?? 100 : 100
    let stanzas = (0..<count).map(stanza)
    let bytes = stanzas.reduce(into: [UInt8]()) { $0 += Array($1.utf8) }
    print("\(count) stanzas, mean \(bytes.count / count) bytes, \(rounds) rounds")
    for chunk in [16_384, 1_400, bytes.count / count] {
      report("read, \(chunk) byte chunks", bytes: bytes.count * rounds, stanzas: count * rounds) {
        read(bytes, chunk: chunk, rounds: rounds)
      }
    }
    let slow = max(1, rounds / 10)
    report("read, 1 byte chunks", bytes: bytes.count * slow, stanzas: count * slow) {
      read(bytes, chunk: 1, rounds: slow)
    }
    let elements = stanzas.compactMap { try? Element(parsing: Array($0.utf8)) }
    report("write", bytes: bytes.count * slow, stanzas: count * slow) { write(elements, rounds: slow) }
  }

  /// Feeds the stanzas `rounds` times and looks at what a router looks at.
  static func read(_ bytes: [UInt8], chunk: Int, rounds: Int) -> Int {
    var reader = ElementReader(limits: .authenticated)
    var seen = 0
    _ = Array(header.utf8).withUnsafeBytes { reader.feed($0) { _ in .proceed } }
    bytes.withUnsafeBytes { bytes in
      for _ in 0..<rounds {
        var at = 0
        while at < bytes.count {
          let end = min(bytes.count, at + chunk)
          reader.feed(UnsafeRawBufferPointer(rebasing: bytes[at..<end])) { event in
            if case .element(let element) = event, element.withAttribute("to", { $0.count }) != nil { seen += 1 }
            return .proceed
          }
          at = end
        }
      }
    }
    return seen
  }

  static func write(_ elements: [Element], rounds: Int) -> Int {
    var buffer = ByteBufferAllocator().buffer(capacity: 1 << 20)
    var seen = 0
    for _ in 0..<rounds {
      buffer.clear()
      for element in elements { element.write(into: &buffer) }
      seen += elements.count
    }
    return seen
  }

  static func report(_ what: String, bytes: Int, stanzas: Int, _ body: () -> Int) {
    let start = cpuSeconds()
    let seen = body()
    let seconds = cpuSeconds() - start
    precondition(seen == stanzas, "lost stanzas")
    let rate = Double(stanzas) / seconds
    print(
      "\(what): \(Int(rate)) stanzas/cpu-s, \(Int(Double(bytes) / seconds / 1e6)) MB/s, \(Int(1e9 / rate)) ns/stanza")
  }

  static func cpuSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// Returns one of the stanzas; sizes vary by the text.
  static func stanza(_ number: Int) -> String {
    let words = ["thou", "art", "wherefore", "Romeo", "night", "a", "rose", "by", "any", "other", "name"]
    let text = (0..<(2 + number % 5)).map { words[(number * 7 + $0 * 3) % words.count] }.joined(separator: " ")
    return """
      <message to='juliet\(number)@capulet.example/x' type='chat' id='m\(number * 7919)'>\
      <body>\(text) &amp; caf\u{E9} \(number)</body>\
      <active xmlns='http://jabber.org/protocol/chatstates'/><request xmlns='urn:xmpp:receipts'/></message>
      """
  }
}

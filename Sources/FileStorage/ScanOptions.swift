import Dialogs

/// The scanner that checks files before they can be read.
public struct ScanOptions: Hashable, Sendable {
  package enum Scanner: Hashable, Sendable {
    case clamd(ClamdAddress)
    /// A program and its arguments.
    case command([String])
  }
  package let scanner: Scanner
  /// The time limit per file.
  let time: Duration
  /// Whether a file that could not be scanned is refused.
  let isNeeded: Bool

  package init(scanner: Scanner, time: Duration, isNeeded: Bool) {
    self.scanner = scanner
    self.time = time
    self.isNeeded = isNeeded
  }
}

/// The address of clamd.
package enum ClamdAddress: Hashable, Sendable {
  case unix(String)
  case tcp(host: String, port: Int)

  /// Parses an absolute path, or a host and a port; otherwise returns nil.
  package init?(_ text: String) {
    if text.hasPrefix("/") {
      self = .unix(text)
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (1...65_535).contains(port)
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    if host.isEmpty { return nil }
    self = .tcp(host: String(host), port: port)
  }
}

import Dialogs

/// The program that looks at files before anybody may read them.
public struct ScanOptions: Hashable, Sendable {
  package enum Scanner: Hashable, Sendable {
    case clamd(ClamdAddress)
    /// A program and its arguments.
    case command([String])
  }
  package let scanner: Scanner
  /// How long one file may take.
  let time: Duration
  /// What could not be scanned is not taken.
  let isNeeded: Bool

  package init(scanner: Scanner, time: Duration, isNeeded: Bool) {
    self.scanner = scanner
    self.time = time
    self.isNeeded = isNeeded
  }
}

/// Where clamd listens.
package enum ClamdAddress: Hashable, Sendable {
  case unix(String)
  case tcp(host: String, port: Int)

  /// nil: neither a path from the root nor a host and a port.
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

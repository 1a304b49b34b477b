import Basics

/// The source of a configuration value.
public enum Origin: Hashable, Sendable, CustomStringConvertible {
  /// The option, such as `--data`.
  case commandLine(String)
  /// The variable's name.
  case environment(String)
  case file(String, line: Int?)
  case standard
  /// Derived from other values.
  case derived

  public var description: String {
    switch self {
    case .commandLine(let option): option
    case .environment(let name): name
    case .file(let path, let line): line.map { "\(path):\($0)" } ?? path
    case .standard: "default"
    case .derived: "derived"
    }
  }
}

/// An error in the configuration.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The key; nil for an error of the whole source, such as an unreadable file.
  public let key: String?
  /// The value; nil if there is none or it is secret.
  public let value: String?
  public let origin: Origin
  public let text: String

  public init(key: String?, value: String? = nil, origin: Origin, _ text: String) {
    self.key = key
    self.value = value
    self.origin = origin
    self.text = text
  }

  /// The error on one line, such as `xmpp.port = 70000 (PARLEY_XMPP_PORT): a port is a number from 0 to 65535`.
  public var description: String {
    guard let key else { return Line.safe("\(origin): \(text)") }
    if value == "", origin == .standard { return Line.safe("\(key) is not set: \(text)") }
    return Line.safe("\(key)\(value.map { " = \($0)" } ?? "") (\(origin)): \(text)")
  }
}

/// Finds the name that is closest to a mistyped one.
package enum Nearest {
  /// Returns the closest name; nil if more than a third of the letters differ in all of them.
  package static func name(to wrong: String, among names: [String]) -> String? {
    let wanted = Array(wrong.lowercased().unicodeScalars)
    let best =
      names
      .map { (name: $0, distance: distance(wanted, Array($0.lowercased().unicodeScalars))) }
      .min { $0.distance < $1.distance }
    if let best, best.distance <= max(2, wanted.count / 3), best.distance < wanted.count { return best.name }
    // A name in the wrong group, such as `tls_port` for `xmpp.tls_port`.
    let endings = names.filter { $0.hasSuffix("." + wrong) || wrong.hasSuffix("." + $0) }
    return endings.count == 1 ? endings.first : nil
  }

  /// Returns the number of insertions, deletions, replacements and transpositions of neighbours (optimal string
  /// alignment).
  static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    var before: [Int] = []
    var above = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var cost = min(row[j] + 1, above[j + 1] + 1, above[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
        row.append(cost)
      }
      before = above
      above = row
    }
    return above[b.count]
  }
}

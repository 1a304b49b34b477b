import Basics
import JSON

/// A problem document in which an authority tells a failure (RFC 8555 6.7).
struct ACMEProblem: Hashable, Sendable {
  /// The type without the namespace of ACME, such as `rateLimited`; empty if there is none.
  let type: String
  /// The reason for people, on one line.
  let text: String
  /// The names that subproblems are about, with the reason of each (6.7.1).
  let names: [NameFailure]

  /// - Parameter status: The HTTP status, which is told if the document says nothing.
  init(_ value: JSONValue?, status: Int?) {
    let (type, detail) = Self.members(value)
    self.type = type
    switch (detail.isEmpty, type.isEmpty) {
    case (false, false): text = "\(detail) (\(type))"
    case (false, true): text = detail
    case (true, false): text = type
    case (true, true): text = status.map { "HTTP status \($0) without a reason" } ?? "no reason was given"
    }
    guard case .array(let parts) = value?["subproblems"] else {
      names = []
      return
    }
    names = parts.compactMap { part in
      guard let name = part["identifier"]?["value"]?.string?.lowercased() else { return nil }
      return NameFailure(name: name, text: ACMEProblem(part, status: nil).text)
    }
  }

  private static func members(_ value: JSONValue?) -> (type: String, detail: String) {
    let prefix = "urn:ietf:params:acme:error:"
    var type = value?["type"]?.string ?? ""
    if type.hasPrefix(prefix) { type.removeFirst(prefix.count) }
    if type == "about:blank" { type = "" }
    let detail = value?["detail"]?.string ?? ""
    return (Line.safe(String(type.prefix(100))), Line.safe(String(detail.prefix(ACMELimits.textMax))))
  }
}

/// The reason why a name is not certified.
package struct NameFailure: Hashable, Sendable {
  package let name: String
  package let text: String
}

/// The reason why an attempt brought no certificate.
package struct ACMEFailure: Error, Hashable, Sendable {
  /// A clause on one line.
  package var text: String
  /// The seconds that the authority asks to wait (RFC 8555 6.6); nil if it asks for none.
  package var retryAfter: Int?
  /// Whether no answer came.
  package var isUnreachable: Bool

  package init(_ text: String, retryAfter: Int? = nil, isUnreachable: Bool = false) {
    self.text = text
    self.retryAfter = retryAfter
    self.isUnreachable = isUnreachable
  }
}

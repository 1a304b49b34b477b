public import Addresses

/// The node of a block list, written as `SERVICE/NODE`.
public struct BlocklistOption: Hashable, Sendable, CustomStringConvertible {
  public let service: JID
  public let node: String

  /// Parses `SERVICE/NODE`; `nil` for any other text. The service is a domain, or the address of an account.
  public init?(_ text: String) {
    guard let slash = text.firstIndex(of: "/"), let service = BareJID(parsing: String(text[..<slash])) else {
      return nil
    }
    let node = text[text.index(after: slash)...]
    if node.isEmpty { return nil }
    self.service = JID(service)
    self.node = String(node)
  }

  public var description: String { "\(service)/\(node)" }
}

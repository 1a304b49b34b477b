public import JSON
public import XMLStream

/// JSON of which a part is named; see `Matcher`.
public typealias JSONPattern = JSONValue

/// The expectation of a line about one arriving item.
public enum Pattern: Sendable {
  case xml(Element)
  case json(JSONPattern)
  /// The other side closed its stream (RFC 6120 4.4) or its WebSocket, with this code.
  case end(code: Int?)

  /// True for the answer to an IQ. A server may answer one request before an earlier one (RFC 6120 10.1 orders what
  /// is sent, not what is done), so answers in one list arrive in any order among themselves.
  var isAnswer: Bool {
    guard case .xml(let element) = self, element.local == "iq" else { return false }
    return ["result", "error"].contains(element["type"])
  }
}

/// An item that has arrived.
public enum Arrival: Sendable {
  case xml(Element)
  case json(JSONValue)
  /// The stream or the WebSocket was closed in the protocol's own way.
  case end(code: Int?)
  /// The connection is gone; nothing more comes.
  case disconnected

  /// Came by the server's own rhythm and not because of something in the play: matched where a line names it, passed
  /// over where "nothing" is expected. Acknowledgements, requests to confirm and the debounced unread numbers.
  public var isIncidental: Bool {
    switch self {
    case .xml(let element):
      element.namespace == "urn:xmpp:sm:3" && ["a", "r"].contains(element.local) || isRequestToConfirm
    case .json(let value): value["type"]?.string == "unread.updated"
    case .end, .disconnected: false
    }
  }
}

extension Arrival {
  /// The server asks whether the client is there, and has what it was sent (XEP-0092, XEP-0199 4.1).
  var isRequestToConfirm: Bool {
    guard case .xml(let element) = self, element.local == "iq", element["type"] == "get",
      element["from"]?.contains("@") == false
    else { return false }
    return element.children.contains { ["urn:xmpp:ping", "jabber:iq:version"].contains($0.namespace) }
  }
}

extension Arrival: CustomStringConvertible {
  public var description: String {
    switch self {
    case .xml(let element): String(decoding: element.serialised(), as: UTF8.self)
    case .json(let value): value.text
    case .end(let code): code.map { "(closed with \($0))" } ?? "(end of stream)"
    case .disconnected: "(disconnected)"
    }
  }
}

extension Pattern: CustomStringConvertible {
  public var description: String {
    switch self {
    case .xml(let element): String(decoding: element.serialised(), as: UTF8.self)
    case .json(let value): value.text
    case .end(let code): code.map { "(closed with \($0))" } ?? "(end of stream)"
    }
  }
}

import Basics
public import XMLStream

/// The dialogue in which a client authenticates. The mechanisms and their messages are the same in both.
public enum SASLProfile: Sendable, Equatable {
  /// RFC 6120 6: the stream restarts after success, and a resource is bound on the new one.
  case core
  /// XEP-0388: there is no restart, and the request already contains what the client wants next.
  case extensible

  /// The namespace of the profile's elements.
  public var namespace: StaticString {
    switch self {
    case .core: NS.sasl
    case .extensible: NS.sasl2
    }
  }
}

/// `<authenticate/>` (XEP-0388 1.0.4, 2.4): the mechanism, the client, and the requests that are carried out at once
/// after a successful authentication. Otherwise they are void (2.6.2).
public struct AuthenticateRequest: Sendable, Equatable {
  /// A client's description of itself. It is never shown to other users.
  public struct Agent: Sendable, Equatable {
    /// The installation's own UUID, in lower case; `nil` if none was given.
    public let id: String?
    public let software: String?
    public let device: String?
  }

  public let mechanism: String
  /// The decoded response; `nil` if there is none.
  public let initialResponse: [UInt8]?
  public let agent: Agent?
  /// The former session to resume (XEP-0198 9.2). It takes precedence over `bind`.
  public let resume: ManagementElement?
  public let bind: InlineBind?
  /// The requested upgrades (XEP-0480 2.2) that are known, in the client's order, each once.
  public let upgrades: [SCRAMMechanism]
  /// The use of a token, if the client authenticates by one (XEP-0484 3.4).
  public let fast: TokenUse?
  /// The mechanism for which the client requests a token (XEP-0484 3.2); `nil` if it requests none.
  public let wantedToken: String?

  /// Reads the element. Throws the reason if it is invalid.
  public init(_ element: Element) throws(SASLFailure) {
    mechanism = element["mechanism"] ?? ""
    if let response = element.first(Name("initial-response", NS.sasl2)) {
      guard let bytes = response.withText({ Base64.decode($0) }) else { throw SASLFailure(.incorrectEncoding) }
      initialResponse = bytes
    } else {
      initialResponse = nil
    }
    if let agent = element.first(Name("user-agent", NS.sasl2)) {
      func text(_ name: Name) -> String? {
        agent.first(name).map { String($0.text.prefix(XMPPLimits.agentCharactersMax)) }
      }
      var id: String?
      if let given = agent["id"] {
        guard let uuid = Self.uuid(given) else {
          throw SASLFailure(.malformedRequest, "the id of <user-agent/> is no UUID")
        }
        id = uuid
      }
      self.agent = Agent(id: id, software: text(Name("software", NS.sasl2)), device: text(Name("device", NS.sasl2)))
    } else {
      agent = nil
    }
    if let resume = element.first(.smResume) {
      do throws(StanzaError) { self.resume = try ManagementElement(resume) } catch {
        throw SASLFailure(.malformedRequest, error.text)
      }
    } else {
      resume = nil
    }
    bind = element.first(.inlineBind).map(InlineBind.init)
    let upgrade = Name("upgrade", NS.saslUpgrade)
    upgrades = element.children.lazy.filter { $0.is(upgrade) }.reduce(into: []) { upgrades, wish in
      guard let mechanism = SCRAMUpgrade.offered.first(where: { wish.text == SCRAMUpgrade.task($0) }),
        !upgrades.contains(mechanism)
      else { return }
      upgrades.append(mechanism)
    }
    fast = try element.first(Name("fast", NS.fast)).map { fast throws(SASLFailure) in try TokenUse(fast) }
    wantedToken = element.first(Name("request-token", NS.fast))?["mechanism"]
  }

  /// Returns 8-4-4-4-12 hexadecimal digits in lower case. The version (4, by 2.4) makes no difference.
  private static func uuid(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return nil }
    for (index, byte) in bytes.enumerated() {
      switch index {
      case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
      default: guard Unicode.Scalar(byte).properties.isASCIIHexDigit else { return nil }
      }
    }
    return text.lowercased()
  }
}

/// `<bind/>` of Bind 2 (XEP-0386 1.1.0, 3.2): a resource, and the features to switch on before the session is sent
/// anything.
public struct InlineBind: Sendable, Equatable {
  /// The name of the software, the first part of the resource; `nil` if it is absent or empty.
  public let tag: String?
  /// The other elements.
  public let features: [Element]

  public init(_ element: Element) {
    let name = Name("tag", NS.bind2)
    let text = element.first(name)?.text ?? ""
    tag = text.isEmpty ? nil : text
    features = element.children.filter { !$0.is(name) }
  }

  /// Returns the resource to bind: the tag, and behind it the server's part (3.3).
  public func resource(_ generated: String) -> String { tag.map { "\($0)/\(generated)" } ?? generated }
}

// Resource binding (RFC 6120 7): decides the address of a session.
//
// Theory. The client asks with or without a resource of its own. One that cannot be prepared is replaced by a generated
// one (7.7.2.1 prefers that to an error). A resource in use is a conflict, and the policy says which session yields.
// The machine counts refusals, for after ten of them the stream ends (7.7.3); everything else is a pure decision over
// the list of connected resources, which the caller must keep unchanged until the new one is in it.

public import Addresses
public import XMLStream

/// A client's request to bind, parsed.
public struct BindRequest: Sendable, Equatable {
  /// The IQ that carried it.
  public let stanza: Stanza
  /// The requested resource, as sent; `nil` to be given one.
  public let resource: String?

  /// Reads a stanza; `nil` if it does not ask to bind.
  /// - Throws: `bad-request` for an IQ of another type than `set` or one without id.
  public init?(_ stanza: Stanza) throws(StanzaError) {
    guard stanza.kind == .iq, let type = stanza.iqType, type.isRequest, let payload = stanza.payload, payload.is(.bind)
    else { return nil }
    try stanza.validate()
    guard type == .set else { throw StanzaError(.badRequest, "binding a resource is an iq of type set") }
    self.stanza = stanza
    let text = payload.first(.bindResource)?.text ?? ""
    resource = text.isEmpty ? nil : text
  }

  /// Writes the result (RFC 6120 7.6.1).
  public func writeResult(_ jid: FullJID, into writer: inout ElementWriter) {
    writer.element(.iq) { writer in
      writer.attribute("type", "result" as StaticString)
      stanza.copy("id", to: "id", in: &writer)
      writer.element(.bind) { writer in
        writer.element(.bindJID) { $0.text(jid.description) }
      }
    }
  }
}

/// The session that yields when two want one resource (RFC 6120 7.7.2.2).
public enum ResourceConflict: Sendable, Equatable {
  /// The older session ends with a `conflict` stream error: it is mostly a dead one of the same device.
  case replace
  /// The newer one gets a generated resource.
  case rename
  /// The newer one is refused.
  case refuse
}

public struct BindPolicy: Sendable, Equatable {
  public var conflict: ResourceConflict
  /// The sessions of one account at a time.
  public var resourcesMax: Int
  /// The attempts of one stream.
  public var attemptsMax: Int

  public init(
    conflict: ResourceConflict = .replace, resourcesMax: Int = XMPPLimits.resourcesMax,
    attemptsMax: Int = XMPPLimits.bindAttemptsMax
  ) {
    self.conflict = conflict
    self.resourcesMax = resourcesMax
    self.attemptsMax = attemptsMax
  }
}

public enum BindDecision: Sendable, Equatable {
  /// Bind this address. If `replacing`, first end the session that has it with `StreamError(.conflict)`.
  case bind(FullJID, replacing: Bool)
  /// Answer with this error; the client may try again.
  case refuse(StanzaError)
  /// Close the stream.
  case close(StreamError)
}

public struct BindMachine: Sendable {
  private let policy: BindPolicy
  private var refusals = 0

  public init(policy: BindPolicy = BindPolicy()) {
    self.policy = policy
  }

  /// Decides a request.
  ///
  /// - Parameters:
  ///   - resource: the requested one, as sent; `nil` to be given one.
  ///   - user: the authenticated user.
  ///   - connected: the resources that the user has bound now.
  ///   - generated: a fresh random resource (RFC 6120 7.5), used when one is needed.
  public mutating func requested(
    _ resource: String?, user: BareJID, connected: some Collection<String>, generated: String
  ) -> BindDecision {
    guard let own = Self.address(user, generated) else {
      return refuse(StanzaError(.internalServerError, "no resource could be made"))
    }
    var jid = resource.flatMap { Self.address(user, $0) } ?? own
    if connected.contains(jid.resource) {
      switch policy.conflict {
      case .replace: return .bind(jid, replacing: true)
      case .rename: jid = own
      // The type is modify here (RFC 6120 7.7.2.2): another resource may do.
      case .refuse: return refuse(StanzaError(.conflict, "the resource is in use", type: .modify))
      }
    }
    guard connected.count < policy.resourcesMax else {
      return refuse(StanzaError(.resourceConstraint, "the account has too many sessions"))
    }
    return .bind(jid, replacing: false)
  }

  private mutating func refuse(_ error: StanzaError) -> BindDecision {
    refusals += 1
    guard refusals < policy.attemptsMax else {
      return .close(StreamError(.policyViolation, "too many attempts to bind a resource"))
    }
    return .refuse(error)
  }

  private static func address(_ user: BareJID, _ resource: String) -> FullJID? {
    do { return try user.full(resource) } catch { return nil }
  }
}

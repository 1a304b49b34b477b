public import XMLStream

/// The state that has been negotiated on a stream.
public struct StreamConditions: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// TLS is in place.
  public static let secured = StreamConditions(rawValue: 1)
  /// SASL succeeded.
  public static let authenticated = StreamConditions(rawValue: 2)
  /// A resource is bound.
  public static let bound = StreamConditions(rawValue: 4)
  /// TLS is in place, and a login can be bound to it (`ChannelBinding`).
  public static let bindable = StreamConditions(rawValue: 8)
  /// Bindable by `tls-exporter`.
  public static let exporting = StreamConditions(rawValue: 16)
  /// Bindable by `tls-server-end-point`.
  public static let certified = StreamConditions(rawValue: 32)
  /// The stream is for a domain that takes guests.
  public static let guests = StreamConditions(rawValue: 64)
  /// Stream management is on (XEP-0198).
  public static let managed = StreamConditions(rawValue: 128)
}

/// A stream feature as a value (RFC 6120 4.3.2): its element, and when it is advertised. The offer of a stream is the
/// table of features, filtered by what has been negotiated.
public struct StreamFeature: Sendable, Equatable {
  /// The child of `<stream:features/>`.
  public var element: Element
  /// The conditions that must all hold for the offer.
  public var needs: StreamConditions
  /// The conditions none of which may hold for the offer.
  public var forbids: StreamConditions

  public init(_ element: Element, needs: StreamConditions = [], forbids: StreamConditions = []) {
    self.element = element
    self.needs = needs
    self.forbids = forbids
  }

  public func isOffered(in conditions: StreamConditions) -> Bool {
    conditions.isSuperset(of: needs) && conditions.isDisjoint(with: forbids)
  }
}

extension [StreamFeature] {
  /// Returns the features to advertise now, in the order of the table.
  public func offered(in conditions: StreamConditions) -> [StreamFeature] { filter { $0.isOffered(in: conditions) } }
}

extension StreamFeature {
  /// Returns STARTTLS (RFC 6120 5.4.1), never on a stream that has TLS (XEP-0368 2).
  public static func startTLS(isRequired: Bool) -> StreamFeature {
    StreamFeature(
      Element(.startTLS, [:], isRequired ? [Element(.startTLSRequired)] : []), forbids: [.secured, .authenticated])
  }

  /// Returns the SASL mechanisms that a policy offers (RFC 6120 6.4.1): one feature for streams with TLS, and one for
  /// those without if anything is allowed there.
  public static func mechanisms(_ policy: AuthenticationPolicy) -> [StreamFeature] {
    offers(policy, .core) { mechanisms, _ in
      Element(.mechanisms, [:], mechanisms.map { Element(.mechanism, text: String(describing: $0.name)) })
    }
  }

  /// Returns the extensible profile (XEP-0388 2.2) with its inline features and the upgrades (XEP-0480 2.1), which are
  /// never for streams without TLS. It is for streams with TLS (3); those without get it if anything is allowed there.
  public static func authentication(_ policy: AuthenticationPolicy, inline: [Element]) -> [StreamFeature] {
    offers(policy, .extensible) { mechanisms, isSecured in
      Element(
        Name("authentication", NS.sasl2), [:],
        mechanisms.map { Element(Name("mechanism", NS.sasl2), text: String(describing: $0.name)) }
          + [Element(Name("inline", NS.sasl2), [:], inline)]
          + (isSecured ? SCRAMUpgrade.offered : []).map {
            Element(Name("upgrade", NS.saslUpgrade), text: SCRAMUpgrade.task($0))
          })
    }
  }

  /// Adds tokens to `authentication` (XEP-0484 3.1): each offer gets the mechanisms that are possible under its
  /// conditions.
  public static func offeringTokens(_ features: [StreamFeature], _ policy: AuthenticationPolicy) -> [StreamFeature] {
    features.flatMap { feature -> [StreamFeature] in
      guard feature.needs.contains(.secured), !feature.forbids.contains(.bindable) else {
        return [feature.offeringTokens(policy)]
      }
      let bindings: StreamConditions = [.exporting, .certified]
      return [bindings, .exporting, .certified, []].map { (present: StreamConditions) in
        var feature = feature
        feature.needs.formUnion(present)
        feature.forbids.formUnion(bindings.subtracting(present))
        return feature.offeringTokens(policy)
      }
    }
  }

  private func offeringTokens(_ policy: AuthenticationPolicy) -> StreamFeature {
    let inline = Name("inline", NS.sasl2)
    let mechanisms = policy.tokenOffer(in: needs)
    guard element.is(Name("authentication", NS.sasl2)), !mechanisms.isEmpty else { return self }
    let names = mechanisms.map { Element(Name("mechanism", NS.fast), text: String(describing: $0.name)) }
    let fast = Element(Name("fast", NS.fast), [:], names)
    let children = element.children.map { child -> Element in
      child.is(inline) ? Element(inline, [:], [fast] + Array(child.children)) : child
    }
    var feature = self
    feature.element = Element(Name("authentication", NS.sasl2), [:], children)
    return feature
  }

  private static func offers(
    _ policy: AuthenticationPolicy, _ profile: SASLProfile, _ element: ([SASLMechanism], _ isSecured: Bool) -> Element
  ) -> [StreamFeature] {
    func offer(_ conditions: StreamConditions) -> [SASLMechanism] { policy.offer(profile, in: conditions) }
    // One offer for each combination that makes a difference.
    var cases: [(needs: StreamConditions, forbids: StreamConditions)] = [
      (.secured, .authenticated), ([], [.secured, .authenticated]),
    ]
    for condition in [StreamConditions.bindable, .guests] {
      cases = cases.flatMap { needs, forbids -> [(needs: StreamConditions, forbids: StreamConditions)] in
        let further = needs.union(condition)
        return offer(further) == offer(needs)
          ? [(needs, forbids)] : [(further, forbids), (needs, forbids.union(condition))]
      }
    }
    return cases.compactMap { needs, forbids in
      let mechanisms = offer(needs)
      guard !mechanisms.isEmpty else { return nil }
      return StreamFeature(element(mechanisms, needs.contains(.secured)), needs: needs, forbids: forbids)
    }
  }

  /// Returns the types of channel binding (XEP-0440 3), beside mechanisms that use them.
  public static func channelBindings(_ types: [String]) -> StreamFeature {
    StreamFeature(
      Element(
        Name("sasl-channel-binding", NS.channelBinding), [:],
        types.map { Element(Name("channel-binding", NS.channelBinding), ["type": $0]) }),
      needs: .bindable, forbids: .authenticated)
  }

  /// Returns Bind 2 as part of `authentication` (XEP-0386 3.1), with the features that it can switch on.
  public static func inlineBind(_ features: [String]) -> Element {
    Element(
      .inlineBind, [:],
      [Element(Name("inline", NS.bind2), [:], features.map { Element(Name("feature", NS.bind2), ["var": $0]) })])
  }

  /// Resource binding (RFC 6120 7.4).
  public static let bind = StreamFeature(Element(.bind), needs: .authenticated, forbids: .bound)

  /// The session request of RFC 3921 3, marked optional so that current clients leave it out.
  public static let session = StreamFeature(
    Element(.session, [:], [Element(Name("optional", NS.session))]), needs: .authenticated, forbids: .bound)

  /// Stream management (XEP-0198 2). It is not offered where the login has enabled it: some clients would enable it again,
  /// which is an error.
  public static let streamManagement = StreamFeature(
    Element(.streamManagement), needs: .authenticated, forbids: .managed)

  /// Roster versioning (RFC 6121 2.6.1).
  public static let rosterVersioning = StreamFeature(Element(Name("ver", NS.rosterVersioning)), needs: .authenticated)

  /// Pre-approval of subscriptions (RFC 6121 3.4.1).
  public static let preApproval = StreamFeature(Element(Name("sub", NS.preApproval)), needs: .authenticated)

  /// Client state indication (XEP-0352 3).
  public static let clientState = StreamFeature(Element(Name("csi", NS.csi)), needs: .authenticated)

  /// Returns in-band registration (XEP-0077 8), before authentication.
  public static func registration(needsTLS: Bool) -> StreamFeature {
    StreamFeature(
      Element(Name("register", NS.registerFeature)), needs: needsTLS ? .secured : [], forbids: .authenticated)
  }

  /// Returns in-band registration with an invitation (XEP-0445 3), before authentication.
  public static func invitedRegistration(needsTLS: Bool) -> StreamFeature {
    StreamFeature(Element(Name("register", NS.ibrToken)), needs: needsTLS ? .secured : [], forbids: .authenticated)
  }

  /// Returns the limits of a stream (XEP-0478 2).
  ///
  /// - Parameters:
  ///   - maxBytes: the most bytes of one stanza.
  ///   - idleSeconds: the silence after which the server closes; `nil` for no such limit.
  public static func limits(
    maxBytes: Int, idleSeconds: Int?, needs: StreamConditions, forbids: StreamConditions = []
  ) -> StreamFeature {
    var children = [Element(Name("max-bytes", NS.limits), text: String(maxBytes))]
    if let idleSeconds { children.append(Element(Name("idle-seconds", NS.limits), text: String(idleSeconds))) }
    return StreamFeature(Element(Name("limits", NS.limits), [:], children), needs: needs, forbids: forbids)
  }

  /// Returns the server's capabilities (XEP-0115 6.3).
  public static func capabilities(node: String, version: String) -> StreamFeature {
    StreamFeature(Element(.caps, ["hash": "sha-1", "node": node, "ver": version]), needs: .authenticated)
  }

  /// SASL EXTERNAL (RFC 6120 6.4.1, XEP-0178 3), for a server whose certificate is good for the domain that it names.
  public static let external = StreamFeature(Element(.mechanisms, [:], [Element(.mechanism, text: "EXTERNAL")]))

  /// Server dialback with error handling (XEP-0220 2.4.2).
  public static let dialback = StreamFeature(
    Element(Name("dialback", NS.dialbackFeature), [:], [Element(Name("errors", NS.dialbackFeature))]))

  /// Bidirectional streams between servers (XEP-0288 2.1).
  public static let bidi = StreamFeature(Element(Name("bidi", NS.bidiFeature)))
}

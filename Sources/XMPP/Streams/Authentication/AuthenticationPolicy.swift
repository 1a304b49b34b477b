/// The mechanisms that a server allows. It is a value: a change affects new streams.
public struct AuthenticationPolicy: Sendable, Equatable {
  /// The mechanisms in the order in which they are offered.
  public var mechanisms: [SASLMechanism]
  /// The mechanisms for tokens of XEP-0484, in the order in which they are offered; beside the others, and only in the
  /// extensible profile.
  public var tokenMechanisms: [HashedTokenMechanism]
  /// Whether any mechanism may be used on a stream without TLS; only for loopback and for tests.
  public var allowsUnsecured: Bool
  /// Whether PLAIN and tokens may be used there too (RFC 6120 13.8.3 forbids it in the open, RFC 7628 3 and XEP-0484 6
  /// too).
  public var allowsUnsecuredPlain: Bool
  /// The attempts of one stream; the next one closes it. At least `XMPPLimits.authenticationAttemptsMax` to be kind to
  /// clients.
  public var attemptsMax: Int
  public var decoy: SCRAMDecoy
  /// Whether OAUTHBEARER is offered, in the extensible profile. Strophe.js takes every mechanism that is named anywhere
  /// for one of the core's profile, prefers this one, sends the password as the token, and tries nothing after a
  /// failure: where web clients connect it is accepted and not offered.
  public var offersBearer = true

  public init(
    mechanisms: [SASLMechanism] = SASLMechanism.all,
    tokenMechanisms: [HashedTokenMechanism] = HashedTokenMechanism.allCases, allowsUnsecured: Bool = false,
    allowsUnsecuredPlain: Bool = false, attemptsMax: Int = XMPPLimits.authenticationAttemptsMax, decoy: SCRAMDecoy
  ) {
    self.mechanisms = mechanisms
    self.tokenMechanisms = tokenMechanisms
    self.allowsUnsecured = allowsUnsecured
    self.allowsUnsecuredPlain = allowsUnsecuredPlain
    self.attemptsMax = attemptsMax
    self.decoy = decoy
  }

  /// Returns the mechanisms to offer (RFC 6120 6.3.4): none that the state of the stream would refuse.
  ///
  /// Those with channel binding are for the extensible profile alone: older clients know only the bindings of TLS 1.2,
  /// try one of these, and fall back to PLAIN when it is refused.
  public func offer(_ profile: SASLProfile, in conditions: StreamConditions) -> [SASLMechanism] {
    let isBindable = profile == .extensible && conditions.isSuperset(of: [.secured, .bindable])
    var mechanisms = isBindable ? mechanisms : mechanisms.filter { !$0.isBound }
    if profile == .core || !offersBearer { mechanisms.removeAll { $0 == .oauthBearer } }
    if !conditions.contains(.guests) { mechanisms.removeAll { $0 == .anonymous } }
    guard !conditions.contains(.secured) else { return mechanisms }
    guard allowsUnsecured else { return [] }
    return mechanisms.filter { !$0.isReadable || allowsUnsecuredPlain }
  }

  /// Returns whether a client may begin with a mechanism, even one that is known but not offered for the sake of
  /// others.
  func accepts(_ mechanism: SASLMechanism, _ profile: SASLProfile, in conditions: StreamConditions) -> Bool {
    guard mechanism == .oauthBearer else { return offer(profile, in: conditions).contains(mechanism) }
    var offering = self
    offering.offersBearer = true
    return offering.offer(.extensible, in: conditions).contains(mechanism)
  }

  /// Returns the mechanisms for tokens to offer (XEP-0484 3.1).
  public func tokenOffer(in conditions: StreamConditions) -> [HashedTokenMechanism] {
    guard conditions.contains(.secured) || (allowsUnsecured && allowsUnsecuredPlain) else { return [] }
    return tokenMechanisms.filter { conditions.isSuperset(of: $0.needs) }
  }

  /// Returns the mechanism for which a client wants a token, if it is offered (XEP-0484 3.2).
  public func token(for wanted: String?, in conditions: StreamConditions) -> String? {
    tokenOffer(in: conditions).map { String(describing: $0.name) }.first { $0 == wanted }
  }

  /// Returns the channel bindings to name beside that offer (XEP-0440): only those that one of its mechanisms can use.
  public func offer(bindings: [ChannelBinding]) -> [ChannelBinding] {
    mechanisms.contains(where: \.isBound) ? bindings : []
  }
}

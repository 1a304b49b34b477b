/// What a server allows. A value: changing it concerns new streams.
public struct AuthenticationPolicy: Sendable, Equatable {
  /// In the order they are offered.
  public var mechanisms: [SASLMechanism]
  /// For tokens of XEP-0484, in the order they are offered; beside the others, and only in the extensible profile.
  public var tokenMechanisms: [HashedTokenMechanism]
  /// Whether anything may be tried on a stream without TLS. Only for loopback and for tests.
  public var allowsUnsecured: Bool
  /// Whether PLAIN and tokens may be tried there too (RFC 6120 13.8.3 forbids it in the open, RFC 7628 3 and XEP-0484 6 too).
  public var allowsUnsecuredPlain: Bool
  /// Attempts of one stream; the next closes it. At least `XMPPLimits.authenticationAttemptsMax` to be kind to clients.
  public var attemptsMax: Int
  public var decoy: SCRAMDecoy
  /// Whether OAUTHBEARER is offered, in the extensible profile. Strophe.js takes every mechanism that is named anywhere for
  /// one of the core's profile, this one before any other, with the password for a token, and tries nothing behind a failure:
  /// where web clients come it is taken and not offered.
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

  /// The mechanisms to offer (RFC 6120 6.3.4): none that the state of the stream would refuse.
  ///
  /// Those with channel binding are for the extensible profile alone: clients of before it know only the bindings of
  /// TLS 1.2, try one of these, and fall back to PLAIN when that is refused.
  public func offer(_ profile: SASLProfile, in conditions: StreamConditions) -> [SASLMechanism] {
    let isBindable = profile == .extensible && conditions.isSuperset(of: [.secured, .bindable])
    var mechanisms = isBindable ? mechanisms : mechanisms.filter { !$0.isBound }
    if profile == .core || !offersBearer { mechanisms.removeAll { $0 == .oauthBearer } }
    if !conditions.contains(.guests) { mechanisms.removeAll { $0 == .anonymous } }
    guard !conditions.contains(.secured) else { return mechanisms }
    guard allowsUnsecured else { return [] }
    return mechanisms.filter { !$0.isReadable || allowsUnsecuredPlain }
  }

  /// Whether a client may begin with it: also where it is known and, for others' sake, not offered.
  func accepts(_ mechanism: SASLMechanism, _ profile: SASLProfile, in conditions: StreamConditions) -> Bool {
    guard mechanism == .oauthBearer else { return offer(profile, in: conditions).contains(mechanism) }
    var offering = self
    offering.offersBearer = true
    return offering.offer(.extensible, in: conditions).contains(mechanism)
  }

  /// The mechanisms for tokens to offer (XEP-0484 3.1).
  public func tokenOffer(in conditions: StreamConditions) -> [HashedTokenMechanism] {
    guard conditions.contains(.secured) || (allowsUnsecured && allowsUnsecuredPlain) else { return [] }
    return tokenMechanisms.filter { conditions.isSuperset(of: $0.needs) }
  }

  /// The mechanism a client wants a token for, where it is offered one (XEP-0484 3.2).
  public func token(for wanted: String?, in conditions: StreamConditions) -> String? {
    tokenOffer(in: conditions).map { String(describing: $0.name) }.first { $0 == wanted }
  }

  /// The types of channel binding to say beside that offer (XEP-0440): none that no mechanism of it can use.
  public func offer(bindings: [ChannelBinding]) -> [ChannelBinding] {
    mechanisms.contains(where: \.isBound) ? bindings : []
  }
}

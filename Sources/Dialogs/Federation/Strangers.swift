import Addresses
import ServerMetrics

/// The hearing that strangers get. Theory:
///
/// A *stranger* to a user here is somebody elsewhere who is not in their roster, and to whom they have never written.
/// What a stranger begins is a *conversation*: a message, a call or a subscription request to one user. It may be
/// continued for the rest of the hour. Conversations are bounded for each stranger, each domain and each zone, so that a wave
/// of new accounts reaches few people; a domain with acquaintances of somebody here is given more, as it has real users.
/// Whoever is acquainted is never concerned.
public enum StrangerPolicy: String, Hashable, Sendable, CaseIterable {
  /// Strangers begin so many conversations an hour; further ones are refused with `tooFast`.
  case limit
  /// Nobody hears strangers.
  case refuse
  /// Strangers are users like any other.
  case allow
}

extension FederationService {
  public var strangers: StrangerPolicy { .limit }
}

extension Judge {
  /// Checks that somebody elsewhere may say something to a user here, who need not exist.
  mutating func checkStranger(_ author: Party, _ host: BareJID) throws {
    guard realms.isFederated(author.realm), let federation = hub.federation else { return }
    let policy = federation.strangers
    let isListed = federation.isListed(author.address)
    let home = realms.home(of: author.realm)
    // Acquaintances make their domain known where strangers are allowed, too: new users of other domains are bounded by zone.
    let isAllowed = policy == .allow && !isListed
    if isAllowed, strangers.isKnown(author.address, home: home) { return }
    if let user = try user(host, seenFrom: home)?.party, try isAcquainted(user, with: author) {
      return strangers.met(author.address, home: home)
    }
    if isAllowed { return }
    if isListed { throw Problem.addressListed }
    if policy == .refuse {
      metrics.strangers.add(.limited)
      throw Problem.strangersRefused
    }
    let most =
      federation.isAnonymous(author.address)
      ? Limits.conversationsPerAnonymousStranger : Limits.conversationsPerStranger
    try limited { judge in
      try judge.strangers.begin(from: author.address, to: host, home: home, atMost: most, at: judge.time)
    }
  }

  /// Measures what strangers are refused.
  mutating func limited(_ body: (inout Judge) throws -> Void) throws {
    do { try body(&self) } catch {
      metrics.strangers.add(.limited)
      throw error
    }
  }

  /// Returns whether a user here knows somebody: has them in the roster, or has written to them.
  func isAcquainted(_ host: Party, with author: Party) throws -> Bool {
    if try writer.contact(of: host.id, author.address)?.isChosen(by: host.address) == true { return true }
    return try !author.isProvisional && hasWritten(host.id, to: author.id)
  }
}

extension Problem {
  static let strangersRefused = Problem(
    .forbidden, "strangers-refused", "Users of this server hear only those elsewhere whom they know.")
}

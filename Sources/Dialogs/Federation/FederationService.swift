public import Addresses

/// The service that connects this server to others, as the core needs it; the XMPP door implements it. It is set once,
/// at start (`Hub.setFederation`). Without one every domain elsewhere is refused: `Problem.foreign`.
public protocol FederationService: AnyObject, Sendable {
  // The core never asks for a domain of users, rooms, pubsub or a component of the same home; that of its uploads it
  // does not know.

  /// Returns the reason why users of a domain of this server cannot communicate with a domain elsewhere: `nil` if they
  /// can. This is policy alone; whether the other server answers is found out later.
  ///
  /// It is called on the committer's thread for each post to or from elsewhere, so it must not wait for anything.
  func refusal(of domain: String, from local: String) -> Problem?
  /// Returns the link that takes what is sent between the domains, made at its first use; `nil` if it is refused, or
  /// there are too many. It may be called on any thread.
  func link(_ pair: DomainPair) -> (any LiveSession)?
  /// Returns whether there is such a link already; always unless it says otherwise, as where links cost nothing.
  func hasLink(_ pair: DomainPair) -> Bool
  /// The users elsewhere who may be in rooms here; `open` unless it says otherwise.
  var rooms: RemoteRoomPolicy { get }
  /// Returns whether somebody elsewhere is on a block list that the operators use: then they are heard by those alone
  /// who know them, and are in rooms only as members. As `refusal`, it must not wait.
  func isListed(_ address: BareJID) -> Bool
  /// Returns whether somebody elsewhere has an anonymous account, as its server says: it begins fewer conversations. As
  /// `refusal`, it must not wait.
  func isAnonymous(_ address: BareJID) -> Bool
  /// The hearing that users elsewhere get from those here who do not know them; `limit` unless it says otherwise.
  var strangers: StrangerPolicy { get }
  /// Whether users' reports are forwarded to the domains that the reported addresses are of; not unless it says otherwise.
  var forwardsReports: Bool { get }
}

extension FederationService {
  public func hasLink(_ pair: DomainPair) -> Bool { true }
  public var forwardsReports: Bool { false }
  public func isAnonymous(_ address: BareJID) -> Bool { false }
}

public import Basics
public import Dialogs

/// The operator's side of federation: the state of links, and actions on them. Admin operations
/// (`Administration/Operations/Federation`) call it; a server whose federation is off has none.
public protocol FederationControl: AnyObject, Sendable {
  /// Returns the existing links, in any order: those with a stream, those that back off, and those with something to send.
  func links() async -> [FederationLinkStatus]
  /// Returns the state of a domain apart from its links.
  func domain(_ domain: String) async -> FederationDomainStatus
  /// Closes the streams with a domain in both directions, and returns their number. Waiting rows are kept; the next stanza
  /// opens a stream again.
  func close(_ domain: String) async -> Int
  /// Ends the back-off of a domain's links, which then try at once, and returns their number. Names are looked up again.
  func retry(_ domain: String) async -> Int
  /// Tests every step of a connection to a domain, on a separate stream.
  func test(_ domain: String, from local: String) async -> [FederationTestStep]
  /// Reads the operator's rules (`RecordReader.federationRules()`) again. Streams with domains that are now refused are closed,
  /// and their waiting messages are returned to the authors.
  func rulesChanged() async throws(Problem)
}

/// A pair of domains with its streams and the number of waiting rows.
public struct FederationLinkStatus: Codable, Hashable, Sendable {
  public enum State: String, Codable, Hashable, Sendable {
    /// At least one stream carries stanzas of the pair.
    case open
    case opening
    /// The last attempt failed; the next one is at `next`.
    case backingOff = "backing-off"
    /// There is no stream and nothing to send.
    case idle
  }

  /// A stream that is verified for the pair.
  public struct Stream: Codable, Hashable, Sendable {
    public enum Direction: String, Codable, Hashable, Sendable {
      case outgoing = "out"
      case incoming = "in"
      /// Stanzas go both ways (XEP-0288).
      case both
    }
    public let direction: Direction
    public let since: Timestamp
    /// The peer's address and port.
    public let address: String
    /// The version of TLS, such as `TLSv1.3`.
    public let tls: String?
    /// The way in which the peer was verified: `pkix`, `dane`, `posh` or `dialback`.
    public let verified: String
    /// Whether stanzas are acknowledged (XEP-0198).
    public let acknowledges: Bool

    public init(
      direction: Direction, since: Timestamp, address: String, tls: String?, verified: String, acknowledges: Bool
    ) {
      self.direction = direction
      self.since = since
      self.address = address
      self.tls = tls
      self.verified = verified
      self.acknowledges = acknowledges
    }
  }

  public let local: String
  public let remote: String
  public let state: State
  public let streams: [Stream]
  /// The number of waiting outbox rows of the pair, and the time of the first.
  public let waiting: Int
  public let waitingSince: Timestamp?
  /// The number of failed attempts in a row, the reason of the last, and the time of the next.
  public let failures: Int
  public let reason: String?
  public let next: Timestamp?

  public init(
    local: String, remote: String, state: State, streams: [Stream], waiting: Int, waitingSince: Timestamp?,
    failures: Int, reason: String?, next: Timestamp?
  ) {
    self.local = local
    self.remote = remote
    self.state = state
    self.streams = streams
    self.waiting = waiting
    self.waitingSince = waitingSince
    self.failures = failures
    self.reason = reason
    self.next = next
  }
}

/// The state of a remote domain.
public struct FederationDomainStatus: Codable, Hashable, Sendable {
  public let domain: String
  /// Whether the rules admit it.
  public let isAllowed: Bool
  /// The time at which a certificate of the domain was last found valid, to a day; nil if it is not remembered
  /// (`PeerLimits.certificatesMax`).
  public let verifiedAt: Timestamp?
  /// The way in which a stream of it is verified; nil if there is none.
  public let verified: String?
  /// The reason why the last stream of the domain was refused here or there; nil if none was.
  public let refusal: String?

  public init(domain: String, isAllowed: Bool, verifiedAt: Timestamp?, verified: String?, refusal: String?) {
    self.domain = domain
    self.isAllowed = isAllowed
    self.verifiedAt = verifiedAt
    self.verified = verified
    self.refusal = refusal
  }
}

/// One step of a test of a domain.
public struct FederationTestStep: Codable, Hashable, Sendable {
  /// The step, such as `dns`, `connect host.example.org:5270`, `tls`, `certificate`, `external`, `ping`.
  public let step: String
  public let hasPassed: Bool
  /// The finding, or the fault.
  public let text: String

  public init(step: String, hasPassed: Bool, text: String) {
    self.step = step
    self.hasPassed = hasPassed
    self.text = text
  }
}

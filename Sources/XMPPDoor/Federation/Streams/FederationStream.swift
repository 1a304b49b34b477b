import Dialogs
import NIOCore
import Peers
import XMLStream
import XMPP

/// A verified stream between servers, as links use it: `ServerConnection` over a socket, `LoopbackStream` within the
/// process. It is confined to its event loop, on which all methods must be called.
protocol FederationStream: AnyObject {
  /// The reference that links keep; created once.
  var handle: FederationStreamHandle { get }
  /// Whether the other server acknowledges what is written (XEP-0198).
  var acknowledges: Bool { get }
  /// Whether the channel is writable. If not, `FederationStreamOwner.writable` follows.
  var isWritable: Bool { get }
  /// Whether this server has sent `</stream>`: nothing more is written, but acknowledgements may still arrive.
  var isClosing: Bool { get }
  /// The stream as shown to operators.
  var status: FederationLinkStatus.Stream { get }

  /// Appends one stanza, which `flush` sends. Returns `false` if it is longer than the other server takes (XEP-0478),
  /// or has too many records (`StanzaBytes.isReadable`), and was not appended.
  func write(_ body: (inout ElementWriter) -> Void) -> Bool
  func flush()
  /// Notes that the next received stanza has been handled completely, so that an acknowledgement includes it (XEP-0198).
  /// Stanzas are handled in the order in which they were received.
  func handled()
  /// Stops or continues reading.
  func setPaused(_ isPaused: Bool)
  /// Closes the stream with the closing tag, after an error if there is one. `FederationStreamOwner.closed` follows.
  func close(_ error: StreamError?)
}

/// The reference to a stream that other threads may hold. The stream itself never leaves its event loop.
final class FederationStreamHandle: Sendable {
  let loop: any EventLoop
  private let bound: NIOLoopBound<Reference>

  private final class Reference {
    weak var stream: (any FederationStream)?
    init(_ stream: any FederationStream) { self.stream = stream }
  }

  /// Creates a handle; called on the stream's loop.
  init(_ stream: any FederationStream, loop: any EventLoop) {
    self.loop = loop
    bound = NIOLoopBound(Reference(stream), eventLoop: loop)
  }

  /// The stream, if it still exists; read on its loop.
  var stream: (any FederationStream)? { bound.value.stream }

  /// Runs `body` on the stream's loop, at once if that is the current one.
  func run(_ body: @escaping @Sendable (any FederationStream) -> Void) {
    if loop.inEventLoop {
      if let stream { body(stream) }
    } else {
      loop.execute { if let stream = self.stream { body(stream) } }
    }
  }
}

/// The receiver of events of streams, which `Federation` implements. It is called on the stream's event loop.
protocol FederationStreamOwner: AnyObject, Sendable {
  /// Notes that a stream is verified for a pair of domains. A stream that this server opened has only the pair for which it
  /// was opened; one that the other server opened can have several, each with a call.
  ///
  /// - Parameters:
  ///   - mayWrite: Whether stanzas of the pair may be written to it: if this server opened it, or if the other server
  ///     did, this is its first pair, and both agreed on two directions (XEP-0288).
  ///   - isCertified: Whether the other domain was verified by its certificate, not by dialback.
  func opened(_ stream: any FederationStream, for pair: DomainPair, mayWrite: Bool, isCertified: Bool)
  /// Handles a stanza of a pair that the stream is verified for: 'from' is of the remote domain, 'to' of the local one.
  func received(_ stanza: Stanza, of pair: DomainPair, on stream: any FederationStream)
  /// Notes that the other server has acknowledged so many more stanzas (XEP-0198).
  ///
  /// - Parameter pair: The one pair for which stanzas are written to the stream.
  func acknowledged(_ count: Int, of pair: DomainPair, on stream: any FederationStream)
  /// Notes that the channel is writable again.
  func writable(_ stream: any FederationStream, of pair: DomainPair)
  /// Notes that the server at the other end of a stream has announced that it shuts down; `closed` follows.
  func left(_ pairs: [DomainPair])
  /// Notes that a stream that was verified for these pairs has ended, whoever ended it. This is its last call.
  ///
  /// - Parameter isLost: Whether the connection broke: neither server has closed the stream.
  func closed(_ stream: any FederationStream, of pairs: [DomainPair], isLost: Bool)
}

/// Opens streams to other servers.
protocol FederationStreamOpener: Sendable {
  /// Opens a stream for a pair of domains: finds the domain's server, connects, negotiates, proves the local domain and
  /// verifies the remote one. In bounded time it calls either `owner.opened` or `failed`.
  ///
  /// - Parameter failed: Called on any thread.
  func open(
    _ pair: DomainPair, on mounted: MountedLoop, for owner: any FederationStreamOwner,
    failed: @escaping @Sendable (OpenFailure) -> Void)
}

/// The reason why a stream could not be opened.
struct OpenFailure: Error, Hashable, Sendable {
  /// Whether further attempts are useless: there is no such domain, or it offers no XMPP (RFC 2782: target "."), or its
  /// server does not know the domain (`host-unknown`).
  let isFinal: Bool
  /// Whether the failure is final if the next attempt fails in the same way: the DNS knows no such domain, but cannot
  /// prove it.
  var isFinalIfRepeated = false
  /// A clause in plain English for operators, such as `the certificate has expired`.
  let reason: String
}

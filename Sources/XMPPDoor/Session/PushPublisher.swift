import Addresses
public import Dialogs
import NIOCore
public import PushServices
import XMLStream
import XMPP

/// Publishes to push services (XEP-0357 7) with an IQ from the user's domain, which takes the same way as clients' IQs.
public struct PushPublisher: PushRoute {
  private let door: DoorContext

  public init(door: DoorContext) { self.door = door }

  /// Returns whether a service can be reached: a component of this domain, or a client that acts as a service. Any other
  /// domain is another server. The core decides whose client it may be (`StoreReader.mayServe`).
  static func mayReach(_ service: JID, for user: Party, _ parley: Parley) -> Bool {
    if parley.remote(domain: service.domain, reachedFrom: user.realm) != nil { return true }
    return service.domain == user.address.domain && service.local != nil && service.resource != nil
  }

  public func publish(
    _ summary: PushSummary, to registration: PushRegistration, of user: Party
  ) async -> PushOutcome {
    guard case .service(let service, let node, let options) = registration.target,
      Self.mayReach(service, for: user, door.parley), let domain = BareJID(parsing: user.address.domain)
    else { return .refused }
    // The service's user may have withdrawn the permission.
    do throws(Problem) {
      guard try await door.parley.read({ try $0.mayServe(service, asPushServiceOf: user) }) else { return .refused }
    } catch {
      return .failed
    }
    var writer = StreamFraming.writer()
    Self.write(summary, to: node, options, door.options.pushContent, into: &writer)
    let server = Party(id: UserID(0), realm: user.realm, address: domain)
    let answer = await door.questions.ask(
      .set, Array(writer.buffer.readableBytesView), of: service, from: server,
      within: DoorLimits.pushAnswer, door.parley.hub)
    return answer.map(Self.outcome) ?? .failed
  }

  /// Returns the outcome for an answer (7.1): an error disables the service, unless it may be temporary or is about the
  /// service itself: then the same node will be good once the service is mended.
  static func outcome(of stanza: Stanza) -> PushOutcome {
    guard let error = StanzaError(reportedBy: stanza) else { return stanza.isError ? .refused : .taken }
    switch error.condition {
    case .recipientUnavailable, .remoteServerTimeout, .remoteServerNotFound, .serviceUnavailable, .internalServerError,
      .featureNotImplemented:
      return .failed
    case .badRequest, .conflict, .forbidden, .gone, .itemNotFound, .jidMalformed, .notAcceptable, .notAllowed,
      .notAuthorized, .policyViolation, .redirect, .registrationRequired, .resourceConstraint, .subscriptionRequired,
      .undefinedCondition, .unexpectedRequest:
      return error.type == .wait ? .failed : .refused
    }
  }

  private static let publish = Name("publish", NS.pubsub)
  private static let publishOptions = Name("publish-options", NS.pubsub)
  private static let notification = Name("notification", NS.push)
  private static let formType = "urn:xmpp:push:summary"

  /// Writes `<pubsub/>`.
  static func write(
    _ summary: PushSummary, to node: String, _ options: [UInt8]?, _ content: PushContent,
    into writer: inout ElementWriter
  ) {
    writer.element(.pubsub) { writer in
      writer.element(publish) { writer in
        writer.attribute("node", node.isEmpty ? nil : node)
        writer.element(.pubsubItem) { writer in
          writer.element(notification) { form(of: summary, content).write(into: &$0) }
        }
      }
      if let options { writer.element(publishOptions) { $0.raw(options) } }
    }
  }

  /// Returns the form of a notification. It always has a body: services may delay a push without one.
  static func form(of summary: PushSummary, _ content: PushContent) -> DataForm {
    var fields = [DataForm.Field("message-count", nil, "\(summary.count)")]
    if summary.requests > 0 {
      fields.append(DataForm.Field("pending-subscription-count", nil, "\(summary.requests)"))
    }
    if content != .none { fields.append(DataForm.Field("last-message-sender", nil, sender(of: summary.last))) }
    fields.append(DataForm.Field("last-message-body", nil, body(of: summary.last, content)))
    return DataForm(.submit, formType: formType, fields: fields)
  }

  /// Returns the room's address with the nick, or the author's bare address: the resource is private.
  private static func sender(of entry: Entry) -> String {
    let nick = entry.whisper?.nick ?? (entry.room == nil ? nil : entry.envelope?.fromResource)
    let room = entry.whisper?.room.address ?? entry.room?.address
    guard let room else { return entry.author.address.description }
    return nick.map { "\(room)/\($0)" } ?? room.description
  }

  private static func body(of entry: Entry, _ content: PushContent) -> String {
    if case .call = entry.fact { return "Incoming call" }
    guard case .message(let message) = entry.fact else { return "New message" }
    if message.traits.contains(.rings) { return "Incoming call" }
    if message.content.kind == .encrypted { return content == .body ? "Encrypted message" : "New message" }
    let text = entry.state?.text ?? message.content.text
    return content == .body && !text.isEmpty ? String(text.prefix(DoorLimits.pushBodyCharactersMax)) : "New message"
  }
}

extension Entry {
  fileprivate var envelope: Envelope? { if case .message(let message) = fact { message.envelope } else { nil } }
}

import Addresses
public import Dialogs
import NIOCore
import Synchronization
import XMLStream
import XMPP

/// How much of a message its push says: it passes through hands that neither user knows (XEP-0357 9).
public enum PushContent: String, Sendable, CaseIterable {
  /// That there is one.
  case none
  /// And from whom.
  case sender
  /// And its text.
  case body
}

/// Publishes to push services (XEP-0357 7): an IQ from the user's domain, by the same way as what clients send each other.
public struct PushPublisher: PushRoute {
  private let house: House

  public init(house: House) { self.house = house }

  /// A user's client that acts as a service, of this domain, since another one is another server.
  static func mayReach(_ service: JID, for user: Party, _ parley: Parley) -> Bool {
    if parley.remote(domain: service.domain, reachedFrom: user.realm) != nil { return true }
    return service.domain == user.address.domain && service.local != nil && service.resource != nil
  }

  public func publish(
    _ summary: PushSummary, to registration: PushRegistration, of user: Party
  ) async -> PushOutcome {
    guard Self.mayReach(registration.service, for: user, house.parley),
      let domain = BareJID(parsing: user.address.domain)
    else { return .refused }
    let id = House.randomID()
    var writer = StreamFraming.writer()
    Self.write(summary, to: registration, house.options.pushContent, into: &writer)
    let server = Party(id: UserID(0), realm: user.realm, address: domain)
    let service = registration.service
    let request = RelayedStanza(
      name: .iq("set"), from: server, fromResource: nil, to: service.bare, toResource: service.resource, id: id,
      extras: Array(writer.buffer.readableBytesView))
    let answers = house.pushAnswers
    let parley = house.parley
    return await withTaskGroup(of: PushOutcome.self) { group in
      group.addTask {
        await answers.wait(for: id, from: service) {
          parley.hub.signal(
            .stanza(request), from: nil, party: server, to: .user(service.bare, resource: service.resource))
        }
      }
      group.addTask {
        // Returns early when everything ends.
        try? await Task.sleep(for: DoorLimits.pushAnswer)
        return .failed
      }
      let first = await group.next() ?? .failed
      answers.forget(id)
      group.cancelAll()
      return first
    }
  }

  private static let publish = Name("publish", NS.pubsub)
  private static let publishOptions = Name("publish-options", NS.pubsub)
  private static let notification = Name("notification", NS.push)
  private static let formType = "urn:xmpp:push:summary"

  /// `<pubsub/>`.
  static func write(
    _ summary: PushSummary, to registration: PushRegistration, _ content: PushContent, into writer: inout ElementWriter
  ) {
    writer.open(.pubsub)
    writer.open(publish)
    writer.attribute("node", registration.node.isEmpty ? nil : registration.node)
    writer.open(.pubsubItem)
    writer.open(notification)
    form(of: summary, content).write(into: &writer)
    writer.close()
    writer.close()
    writer.close()
    if let options = registration.options {
      writer.open(publishOptions)
      writer.raw(options)
      writer.close()
    }
    writer.close()
  }

  /// There is always a body: services take a push without one as something that can wait.
  static func form(of summary: PushSummary, _ content: PushContent) -> DataForm {
    var fields = [DataForm.Field("message-count", nil, "\(summary.count)")]
    if summary.requests > 0 {
      fields.append(DataForm.Field("pending-subscription-count", nil, "\(summary.requests)"))
    }
    if content != .none { fields.append(DataForm.Field("last-message-sender", nil, sender(of: summary.last))) }
    fields.append(DataForm.Field("last-message-body", nil, body(of: summary.last, content)))
    return DataForm(.submit, formType: formType, fields: fields)
  }

  /// In a room its address with the nick; else without the resource, which is nobody's business.
  private static func sender(of entry: Entry) -> String {
    let nick = entry.whisper?.nick ?? (entry.room == nil ? nil : entry.envelope?.fromResource)
    let room = entry.whisper?.room.address ?? entry.room?.address
    guard let room else { return entry.author.address.description }
    return nick.map { "\(room)/\($0)" } ?? room.description
  }

  private static func body(of entry: Entry, _ content: PushContent) -> String {
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

/// Answers to what the server has published, by the id of the request: 128 random bits, and from whom it was sent to.
final class PushAnswers: Sendable {
  private struct Question {
    let service: JID
    let continuation: CheckedContinuation<PushOutcome, Never>
  }
  private let waiting = Mutex<[String: Question]>([:])

  /// `ask` sends the request; false: nobody is there to take it.
  func wait(for id: String, from service: JID, _ ask: () -> Bool) async -> PushOutcome {
    await withCheckedContinuation { continuation in
      waiting.withLock { $0[id] = Question(service: service, continuation: continuation) }
      if !ask() { end(id, .failed) }
    }
  }

  /// An IQ result or error to one of the server's domains. False: it answers nothing that was published.
  func answered(_ stanza: Stanza, from sender: JID) -> Bool {
    guard let id = stanza.id, waiting.withLock({ $0[id]?.service == sender }) else { return false }
    end(id, Self.outcome(of: stanza))
    return true
  }

  /// Whoever waits still is told that it failed.
  func forget(_ id: String) { end(id, .failed) }

  private func end(_ id: String, _ outcome: PushOutcome) {
    waiting.withLock { $0.removeValue(forKey: id) }?.continuation.resume(returning: outcome)
  }

  /// 7.1: an error disables the service, unless it may pass.
  private static func outcome(of stanza: Stanza) -> PushOutcome {
    guard let error = StanzaError(reportedBy: stanza) else { return stanza.isError ? .refused : .taken }
    switch error.condition {
    case .recipientUnavailable, .remoteServerTimeout, .remoteServerNotFound: return .failed
    default: return error.type == .wait ? .failed : .refused
    }
  }
}

import Addresses
public import Backends
import Basics
public import Dialogs
public import JSON
import NIOCore

/// Renders the events of hooks: the events of this door with the same objects, independent of a viewer, with the
/// members that Standard Webhooks 1.0.0 recommends ("Payload structure"), and the acting user. Users are named without
/// anonymization.
public struct HookEvents: HookRendering {
  private let parley: Parley

  public init(parley: Parley) { self.parley = parley }

  public var events: [String] { EventName.allCases.filter(\.isDurable).map(\.rawValue) }

  public func event(
    _ entry: Entry, in realm: RealmID, _ reader: any StoreReader
  ) throws -> (name: String, body: [UInt8])? {
    var subjects = FeedPage.Subjects()
    switch entry.fact {
    case .room: subjects.rooms[entry.dialog] = try reader.room(entry.dialog)
    case .invitation(let invitation):
      subjects.rooms[invitation.room.dialog] = try reader.room(invitation.room.dialog)
    case .message(let message):
      if let reference = message.reference, reference.changes {
        subjects.targets[reference.target] = try reader.entry(
          reference.target, in: .server(entry.dialog, .hooks))
      }
    case .marker, .contact, .contactGroup, .blocks, .profile, .dialogOpened, .node, .settings, .perUser, .draft,
      .scheduledMessage, .call, .notification, .undelivered:
      break
    }
    // The entry is read for hooks alone, so that no app shares its form.
    let rendering = Rendering(parley: parley, realm: realm, showsStanzaIDs: true)
    // A contact group is changed by operators: no user did it, nor is it told as one of them sees it.
    let author: Party? = if case .contactGroup = entry.fact { nil } else { entry.author }
    let form = EventForm.of(entry, rendering, isAnonymized: false, for: (author ?? Parley.nobody).id, subjects)
    guard let name = form.name?.rawValue, let head = form.head else { return nil }
    let data = Array(head.readableBytesView)[form.dataStart...]
    return (name, Self.body(name, entry.time, by: author?.name, data))
  }

  public func event(
    _ outboxEvent: OutboxEvent, _ reader: any StoreReader
  ) throws -> (name: String, body: [UInt8])? {
    guard let user = try reader.user(outboxEvent.user) else { return nil }
    var data = JSONWriter()
    data.beginObject()
    switch outboxEvent.kind {
    case .userCreated: data.member("user", Rendering(parley: parley, realm: outboxEvent.realm).user(user))
    case .userDeleted:
      data.member("userId", user.name)
      data.member("jid", user.address.description)
    case .reportCreated:
      // The report was dismissed meanwhile.
      guard let report = try reader.report(outboxEvent.detail) else { return nil }
      data.member("reportId", report.id)
      data.member("reporterId", user.name)
      data.member("reported", report.reported)
      data.member("reason", report.reason)
      data.member("text", report.text)
    }
    data.endObject()
    let name = outboxEvent.kind.event
    return (name, Self.body(name, outboxEvent.time, by: user.name, data.bytes[...]))
  }

  /// Returns the body of `webhook.test`.
  public func test() -> [UInt8] { Self.body("webhook.test", parley.clock.now, by: nil, Array("{}".utf8)[...]) }

  /// Returns a message as the backend sees it; `nil` if no app shows it.
  public func message(_ entry: Entry, in realm: RealmID) -> RawObject? {
    let rendering = Rendering(parley: parley, realm: realm, showsStanzaIDs: true)
    guard let body = rendering.message(entry, .open) else { return nil }
    var writer = JSONWriter(capacity: 512)
    body.write(to: &writer)
    return RawObject(trusted: writer.text)
  }

  /// Returns the body of `message.before_send`.
  public func question(_ question: BeforeSendQuestion) async -> [UInt8] {
    let author = question.author
    let realm = author.realm.isRemote ? parley.home(of: author.realm) : author.realm
    let rendering = Rendering(parley: parley, realm: realm)
    var data = JSONWriter(capacity: 512)
    data.beginObject()
    data.member("senderId", author.name)
    data.member("senderJid", author.address.description)
    data.member("dialogId", question.dialog.map { rendering.id($0) })
    data.member("dialogJid", question.room?.description)
    data.member("recipientId", question.recipient.map { rendering.userID($0, domain: author.address.domain) })
    data.member("clientId", question.id)
    data.member("protocol", question.isFromApp ? "app" : "xmpp")
    data.member("sendAt", question.due)
    if let forward = question.forward {
      data.name("forwardFrom")
      data.beginObject()
      data.member("dialogId", rendering.id(forward.dialog))
      data.member("messageId", forward.message.description)
      data.endObject()
    }
    if let reference = question.reference {
      switch (reference.kind, reference.target) {
      case (.correction, .entry(let id)): data.member("edits", id.description)
      case (.correction, .stanza(let id)): data.member("edits", id)
      case (.reply, .entry(let id)): data.member("replyTo", id.description)
      case (.reply, .stanza), (.reactions, _), (.retraction, _), (.moderation, _), (.pin, _), (.part, _): break
      }
    }
    if let (content, metadata) = rendering.content(await UserFiles(parley).described(question), nil) {
      data.member("content", content)
      data.member("metadata", metadata)
    }
    data.endObject()
    return Self.body("message.before_send", parley.clock.now, by: author.name, data.bytes[...])
  }

  private static func body(_ name: String, _ time: Timestamp, by user: String?, _ data: ArraySlice<UInt8>) -> [UInt8] {
    var writer = JSONWriter(capacity: data.count + 128)
    writer.beginObject()
    writer.member("type", name)
    writer.member("timestamp", time)
    writer.member("userId", user)
    writer.name("data")
    writer.raw(data)
    writer.endObject()
    return writer.bytes
  }
}

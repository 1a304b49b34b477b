import Foundation
import Testing

@testable import ParleyClient

/// Every event of asyncapi.yaml as a frame of the server, and what it does to the local state.
struct EventTests {
  static let message =
    #"{"id":"m1","seq":7,"dialogId":"d1","senderId":"romeo","clientId":"c1","sentAt":"2026-11-25T02:00:00.123Z","content":{"type":"location","text":"Verona","lat":45.4,"lng":11}}"#
  static let dialog =
    #"{"id":"d1","type":"group","name":"Balcony","memberIds":["romeo","juliet"],"memberCount":2,"ownerId":"romeo","createdAt":"2026-11-25T02:00:00.000Z"}"#
  static let user = #"{"id":"romeo","jid":"romeo@localhost","name":"Romeo","metadata":{"house":"Montague","age":16}}"#
  static let call =
    #"{"id":"k1","dialogId":"d1","callerId":"romeo","kind":"video","state":"ringing","createdAt":"2026-11-25T02:00:00.000Z","participants":[{"userId":"romeo","role":"caller","deviceId":"x"}]}"#

  static let frames: [(type: String, data: String)] = [
    ("ready", #"{"user":\#(user),"deviceId":"x","cursor":"c","features":["calls"]}"#),
    ("caught_up", #"{"cursor":"c","totalUnread":3,"totalMentions":1}"#),
    ("resync", #"{"reason":"cursorUnknown","cursor":"c"}"#),
    ("message.created", #"{"message":\#(message)}"#),
    ("message.updated", #"{"message":\#(message)}"#),
    ("message.deleted", #"{"dialogId":"d1","messageId":"m1","by":"romeo","for":"everyone"}"#),
    ("message.starred", #"{"dialogId":"d1","messageId":"m1","starred":true}"#),
    ("marker.updated", #"{"marker":{"dialogId":"d1","userId":"juliet","delivered":"m1","read":"m1"}}"#),
    (
      "contact.updated",
      #"{"contact":{"userId":"juliet","jid":"juliet@localhost","groups":[],"shared":false,"state":"mutual"},"removed":false}"#
    ),
    ("contacts.changed", #"{"change":"joined","userIds":["juliet"]}"#),
    ("block.updated", #"{"blocks":[{"userId":"tybalt","jid":"tybalt@localhost"}],"blocked":true}"#),
    ("user.updated", #"{"user":\#(user)}"#),
    ("dialog.created", #"{"dialog":\#(dialog)}"#),
    ("dialog.updated", #"{"dialog":\#(dialog),"message":\#(message)}"#),
    ("dialog.deleted", #"{"dialogId":"d1","for":"me"}"#),
    ("dialog.cleared", #"{"dialogId":"d1","messageId":"m1"}"#),
    ("dialog.invited", #"{"jid":"room@elsewhere.example","elsewhere":true}"#),
    ("member.updated", #"{"dialogId":"d1","member":{"userId":"juliet","role":"none"},"dialog":\#(dialog)}"#),
    (
      "settings.updated",
      #"{"settings":{"dialogId":"d1","notify":"mentions","pinned":true,"archived":false,"markedUnread":false}}"#
    ),
    (
      "draft.updated",
      #"{"dialogId":"d1","draft":{"dialogId":"d1","text":"But","updatedAt":"2026-11-25T02:00:00.000Z"}}"#
    ),
    (
      "scheduled.updated",
      #"{"scheduledMessageId":"s","dialogId":"d1","sendAt":"2026-11-25T02:00:00.000Z","state":"sent","messageId":"m1"}"#
    ),
    ("call.updated", #"{"call":\#(call)}"#),
    (
      "call.signal",
      #"{"callId":"k1","dialogId":"d1","senderId":"romeo","action":"candidate","candidate":{"sdpMLineIndex":0}}"#
    ),
    ("custom", #"{"dialogId":"d1","senderId":"romeo","kind":"rose","payload":{"red":true}}"#),
    ("typing.updated", #"{"dialogId":"d1","userIds":["romeo"]}"#),
    ("presence.updated", #"{"presence":{"userId":"romeo","online":true,"availability":"doNotDisturb"}}"#),
    ("unread.updated", #"{"dialogId":"d1","unreadCount":2,"mentionCount":1,"totalUnread":5,"totalMentions":1}"#),
    ("session.revoked", #"{"reason":"passwordChanged"}"#),
    ("goaway", #"{"reason":"stopping","retryAfterMs":1000}"#),
  ]

  static func event(_ type: String, _ data: String) throws -> ServerEvent? {
    let text = #"{"type":"\#(type)","cursor":"c2","prevCursor":"c1","time":"2026-11-25T02:00:00.000Z","data":\#(data)}"#
    guard case .event(let event, "c2", "c1") = try JSON.decode(Frame.self, from: Data(text.utf8)).kind else {
      return nil
    }
    return event
  }

  @Test("Each event is decoded as one of its own", arguments: frames.map(\.type))
  func decodes(_ type: String) throws {
    let data = try #require(Self.frames.first { $0.type == type }?.data)
    let event = try #require(try Self.event(type, data))
    if case .unknown = event { Issue.record("\(type) is not known") }
  }

  @Test("No event of asyncapi.yaml is missing here")
  func complete() throws {
    let document = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../../../docs/asyncapi.yaml")
    // Outside the repository there is nothing to compare with.
    guard let text = try? String(contentsOf: document, encoding: .utf8) else { return }
    let events = text.components(separatedBy: "  event:\n    action: send")[1].components(separatedBy: "components:\n")[
      0]
    let types = events.components(separatedBy: "webSocket/messages/").dropFirst().map {
      String($0.prefix { $0 != "\"" })
    }
    #expect(types.count > 20)
    #expect(Set(types) == Set(Self.frames.map(\.type)))
  }

  @Test("A type, a word or a member of a later server is no error")
  func later() throws {
    #expect(try Self.event("moon.risen", #"{"phase":"full"}"#) == .unknown(type: "moon.risen", data: ["phase": "full"]))
    let data = #"{"presence":{"userId":"romeo","online":true,"availability":"dreaming","mood":"blue"}}"#
    guard case .presenceUpdated(let presence) = try Self.event("presence.updated", data) else {
      return #expect(Bool(false))
    }
    #expect(presence.availability == "dreaming")
  }

  @Test("A content keeps the members of its type, and is written as it was read")
  func content() throws {
    guard case .messageCreated(let message) = try Self.event("message.created", #"{"message":\#(Self.message)}"#) else {
      return #expect(Bool(false))
    }
    #expect(message.content.type == .location && message.content.text == "Verona")
    #expect(message.content["lat"]?.number == 45.4 && message.content["lng"] == 11)
    #expect(JSON.text(message.sentAt) == "2026-11-25T02:00:00.123Z")
    #expect(try JSON.decode(Message.self, from: JSON.encode(message)) == message)
  }

  @Test("Replies and problems")
  func replies() throws {
    let text =
      #"{"re":"4","error":{"status":400,"code":"text-too-long","title":"T","detail":"D","field":"content.text"}}"#
    guard case .reply("4", let problem?) = try JSON.decode(Frame.self, from: Data(text.utf8)).kind else {
      return #expect(Bool(false))
    }
    let error = ParleyError(problem)
    #expect(error.code == "text-too-long" && error.field == "content.text" && error.status == 400 && !error.isTemporary)
    #expect(ParleyError.network("").isTemporary && ParleyError("x", "", status: 503).isTemporary)
  }

  #if !canImport(Darwin)
    @Test("A server that is not there: the error says so in words")
    func unreachable() async throws {
      for (server, reason) in [
        ("http://localhost:1", "localhost:1: Connection refused."),
        ("https://nobody.invalid", "The name nobody.invalid has no address."),
      ] {
        let parley = try Parley(url: #require(URL(string: server)))
        let error = await refuses("network") { _ = try await parley.info() }
        #expect(error?.detail == "No answer to GET /v1/info: \(reason)")
        await parley.close()
      }
    }
  #endif

  @Test("Events change the list of dialogs; a repeat changes nothing more; an older answer does not undo them")
  func store() throws {
    var store = Store()
    let dialog = try JSON.decode(Dialog.self, from: Data(Self.dialog.utf8))
    let asked = store.clock
    store.put([dialog], asked: asked)
    func apply(_ type: String, _ data: String) throws {
      store.apply(try #require(try Self.event(type, data)), me: "juliet")
    }
    try apply("message.created", #"{"message":\#(Self.message)}"#)
    try apply(
      "unread.updated", #"{"dialogId":"d1","unreadCount":2,"mentionCount":1,"totalUnread":5,"totalMentions":1}"#)
    #expect(
      store.list.first?.lastMessage?.id == "m1" && store.list.first?.me?.unreadCount == 2 && store.totalUnread == 5)
    let once = store.dialogs
    try apply("message.created", #"{"message":\#(Self.message)}"#)
    #expect(store.dialogs == once)
    store.put([dialog], asked: asked)
    #expect(store.dialogs == once && store.missing == ["d1"])
    let left = Self.message.replacing(#""location""#, with: #""deleted""#)
      .replacing(#""seq":7"#, with: #""seq":7,"version":1"#)
    try apply(
      "message.deleted", #"{"dialogId":"d1","messageId":"m1","by":"romeo","for":"everyone","message":\#(left)}"#)
    #expect(store.list.first?.lastMessage?.content.type == .deleted && store.list.first?.lastMessage?.version == 1)
    try apply(
      "member.updated", #"{"dialogId":"d1","member":{"userId":"juliet","role":"none"},"dialog":\#(Self.dialog)}"#)
    #expect(store.list.isEmpty)
  }
}

import Foundation
import Testing

@testable import ParleyClient

/// The outbox and the ladder, which are values without IO.
struct OutboxTests {
  let now = Date(timeIntervalSince1970: 1_000_000)

  func add(_ outbox: inout Outbox, _ id: String, to dialog: String = "d") throws -> Outbox.Entry {
    try outbox.add(NewMessage(text: id).body(clientId: id), clientId: id, to: dialog, files: nil, at: now)
  }

  @Test("Messages of a dialog are sent in order, one that was refused does not block the next")
  func order() throws {
    var outbox = Outbox()
    for id in ["z", "y", "x"] { _ = try add(&outbox, id) }
    _ = try add(&outbox, "elsewhere", to: "e")
    for id in ["elsewhere", "y", "x"] { #expect(outbox.stored(id)?.clientId == id) }
    #expect(outbox.next(in: "d") == nil, "the second one is stored before the first one, and waits")
    #expect(outbox.stored("z")?.clientId == "z")
    #expect(outbox.next(in: "d")?.clientId == "z")
    let failed = outbox.fail("z", ParleyError("text-too-long", "", status: 400))
    #expect(failed?.failure?.code == "text-too-long")
    #expect(outbox.next(in: "d")?.clientId == "y")
    let (once, twice) = (outbox.remove("y"), outbox.remove("y"))
    #expect(once?.clientId == "y" && twice == nil, "the answer and the event settle it once")
    let again = outbox.retry("z")
    #expect(again?.clientId == "z" && again?.failure == nil)
    #expect(outbox.next(in: "d")?.clientId == "z")
    #expect(outbox.next(in: "e")?.clientId == "elsewhere")
    #expect(throws: ParleyError.self) { _ = try add(&outbox, "z") }
  }

  @Test("What a process has left is taken up in the order in which it was written")
  func restart() throws {
    var outbox = Outbox()
    for id in ["c", "b", "a"] { _ = try add(&outbox, id) }
    let stored = try outbox.entries.map { try JSON.decode(Outbox.Entry.self, from: JSON.encode($0)) }
    let next = Outbox(stored.reversed())
    #expect(next.entries == outbox.entries)
    #expect(next.next(in: "d")?.clientId == "c")
  }

  @Test("A message with bytes in memory is stored once they are uploaded; with a file at once")
  func files() throws {
    var outbox = Outbox()
    let data = FileInput(Data([1]), mediaType: "image/png")
    let file = FileInput(URL(fileURLWithPath: "/a"), mediaType: "image/png")
    let body = try NewMessage(text: "A rose", files: [data]).body(clientId: "1")
    #expect(body["content"] == ["type": "image", "text": "A rose"])
    var entry = try outbox.add(body, clientId: "1", to: "d", files: [data], at: now)
    #expect(!entry.isStorable)
    entry.files?[0].id = "uploaded"
    #expect(entry.isStorable)
    let second = try outbox.add(body, clientId: "2", to: "d", files: [file], at: now)
    #expect(second.isStorable)
    #expect(FileInput.type(of: [data, FileInput(Data(), mediaType: "audio/ogg")]) == .file)
  }

  @Test("The ladder climbs by markers, and a marker covers what is before its message")
  func ladder() {
    var reached = Reached()
    let messages = (1...3).map { message($0) }
    #expect(reached.step(1, of: "romeo").status == .sent)
    reached.mark(Marker(dialogId: "d", userId: "juliet", delivered: "3", read: "2"))
    #expect(reached.step(1, of: "romeo").status == .sent, "the message with this id is not known yet")
    reached.resolve(messages)
    #expect(reached.step(3, of: "romeo").status == .delivered)
    #expect(reached.step(2, of: "romeo") == (.read, ["juliet"]))
    reached.mark(Marker(dialogId: "d", userId: "juliet", delivered: nil, read: "1"))
    reached.resolve(messages)
    #expect(reached.step(2, of: "romeo").status == .read, "nothing goes back")
    reached.mark(Marker(dialogId: "d", userId: "romeo", delivered: nil, read: "3"))
    reached.resolve(messages)
    #expect(reached.step(3, of: "romeo").status == .delivered, "one's own marker says nothing")
  }

  @Test("A timeline has no gaps and no message twice")
  func timeline() {
    var timeline = Timeline()
    timeline.replace(
      [message(5), message(4)], older: "4", newer: nil, arrived: [.arrived(message(6)), .arrived(message(5))])
    timeline.arrive(message(6))
    timeline.arrive(message(2))  // of a replay
    #expect(timeline.messages.map(\.seq) == [4, 5, 6])
    timeline.addOlder(Page(items: [message(3), message(2)], nextCursor: nil))
    #expect(timeline.messages.map(\.seq) == [2, 3, 4, 5, 6])
    #expect(!timeline.hasOlder)
    timeline.replace([message(3), message(2)], older: "2", newer: "3", arrived: [.arrived(message(7))])
    timeline.arrive(message(8))
    #expect(timeline.messages.map(\.seq) == [2, 3], "a gap")
    timeline.addNewer(Page(items: [message(5), message(4)], nextCursor: nil), arrived: [.arrived(message(6))])
    #expect(timeline.messages.map(\.seq) == [2, 3, 4, 5, 6])
    var edited = message(5)
    edited.version = 2
    timeline.arrive(edited)
    timeline.arrive(message(5))
    #expect(timeline.messages[3].version == 2)
  }

  @Test("What happens while a page is loading is in it, though the page is older")
  func late() {
    var (timeline, edited) = (Timeline(), message(2))
    edited.version = 2
    timeline.replace(
      [message(3), message(2), message(1)], older: "1", newer: "3",
      arrived: [.changed(edited), .removed("3"), .arrived(message(9))])
    #expect(timeline.messages.map(\.seq) == [1, 2])
    #expect(timeline.messages[1].version == 2)
    timeline.addOlder(Page(items: [message(0), message(-1)], nextCursor: nil), arrived: [.removed("0")])
    #expect(timeline.messages.map(\.seq) == [-1, 1, 2])
    let newer = Page(items: [message(5), message(4)], nextCursor: nil)
    timeline.addNewer(newer, arrived: [.removed("4"), .arrived(message(6))])
    #expect(timeline.messages.map(\.seq) == [-1, 1, 2, 5, 6])
    timeline.replace([message(6)], older: "6", newer: nil, arrived: [.cleared, .arrived(message(7))])
    #expect(timeline.messages.map(\.seq) == [7])
    #expect(!timeline.hasOlder)
  }

  @Test("The place in the log moves on when every reader has handled the events before it")
  func trail() {
    var trail = Trail()
    for cursor in ["a", "b", "c"] {
      trail.begin()
      trail.end(at: cursor)
    }
    var safe: [String?] = []
    for oldest in [1, 3, 3, nil] {
      _ = trail.advance(to: oldest)
      safe.append(trail.safe)
    }
    #expect(safe == [nil, "b", "b", "c"])
  }

  @Test("A file survives a restart, also one in the middle of a write")
  func storage() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).store")
    defer { try? FileManager.default.removeItem(at: file) }
    let storage = FileStorage(file)
    try await storage.write([
      StorageChange("outbox", "2", Data("\"two\"".utf8)), StorageChange("outbox", "1", Data("1".utf8)),
    ])
    try await storage.write([StorageChange("state", "gone", Data("0".utf8))])
    try await storage.write([StorageChange("state", "gone", nil)])
    try await storage.close()
    let permissions = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
    #expect(permissions?.intValue == 0o600)
    let handle = try FileHandle(forWritingTo: file)
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("[[\"outbox\",\"3\",\"cut".utf8))
    try handle.close()
    let again = FileStorage(file)
    #expect(try await again.all("outbox") == [Data("1".utf8), Data("\"two\"".utf8)])
    #expect(try await again.get("state", "gone") == nil)
    try await again.clear()
    try await again.close()
    #expect(try await FileStorage(file).all("outbox").isEmpty)
  }
}

func message(_ seq: Int) -> Message {
  Message(
    id: String(seq), seq: seq, dialogId: "d", senderId: "romeo", sentAt: Date(timeIntervalSince1970: Double(seq)),
    content: Content(type: .text, text: "line \(seq)"))
}

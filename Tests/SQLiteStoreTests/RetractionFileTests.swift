import Basics
import Dialogs
import FoundationEssentials
import Testing

@testable import SQLiteStore

/// Tests that a message deleted for all users is removed from the files, too.
@Suite struct RetractionFileTests {
  @Test(arguments: [20, 20_000])  // within a page, and over several
  func nothingOfWhatWasTakenBackIsInTheFiles(_ length: Int) throws {
    let folder = try Folder()
    let words = ["text", "field", "extra", "edit", "state"].map { "secret-\($0)-" }
    let filling = String(repeating: "x", count: length)
    func found() throws -> [String] {
      let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      let bytes = try files.map { try Data(contentsOf: URL(filePath: "\(folder.path)/\($0)")) }
      return words.filter { word in bytes.contains { $0.firstRange(of: Array(word.utf8)) != nil } }
    }
    var store = try folder.open()
    let verona = try Verona(store)
    func entry(_ position: Int64, _ word: String, _ reference: Reference? = nil, fields: String? = nil) -> Entry {
      Entry(
        position: Position(position), time: Timestamp(milliseconds: position), dialog: verona.dialog.id,
        author: verona.romeo, place: .peer(verona.juliet),
        fact: .message(
          Message(
            sequence: reference == nil ? position : 0,
            content: Content(
              kind: .text, text: word + filling, fields: fields,
              extras: Array((reference == nil ? words[2] : word).utf8) + Array(filling.utf8)),
            envelope: Envelope(id: "m\(position)"), traits: [.archived], reference: reference)),
        id: PublicID(high: 0, low: UInt64(position)))
    }
    let feeds = [FeedRow(user: verona.romeo.id, traits: .archived)]
    let target = entry(1, words[0], fields: "{\"a\":\"\(words[1])\(filling)\"}")
    try store.write { writer in
      try writer.insert(target, feeds: feeds, key: nil)
      let reference = Reference(
        kind: .correction, target: target.position, targetID: target.id, targetStanzaID: nil)
      try writer.insert(entry(2, words[3], reference), feeds: feeds, key: nil)
      try writer.put(
        MessageState(version: Position(2), revision: 1, text: words[4] + filling), of: target.position,
        in: target.dialog)
    }
    try store.close()
    #expect(try found() == words)

    store = try folder.open()
    try store.write { writer in
      try writer.put(
        MessageState(
          version: Position(3), revision: 2,
          retraction: .init(
            by: verona.romeo, at: Timestamp(milliseconds: 3), id: nil, reason: nil, isModeration: false)),
        of: target.position, in: target.dialog)
    }
    try store.close()
    #expect(try found() == [])
  }
}

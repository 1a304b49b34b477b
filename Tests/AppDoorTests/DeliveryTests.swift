import Addresses
import Basics
import Dialogs
import Foundation
import JSON
import Logging
import NIOCore
import SQLiteStore
import Testing

@testable import AppDoor

/// A message that does not reach another server, as its author's app is told.
@Suite struct DeliveryTests {
  /// Admits every domain, and reaches none.
  private final class Unreachable: FederationService {
    func refusal(of domain: String, from local: String) -> Problem? { nil }
    func link(_ pair: DomainPair) -> (any LiveSession)? { nil }
  }

  private func path() throws -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "parley-delivery-\(UUID())").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func event(_ form: EventForm) throws -> JSONValue {
    var text = ByteBuffer()
    try #require(form.frame(after: "c0")).write(to: &text)
    return try JSONValue(parsing: String(buffer: text))
  }

  @Test func aMessageThatIsGivenUpIsUpdatedAlsoForAnAppThatWasAway() async throws {
    let path = try path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let parley = try Parley(
      store: try SQLiteStore(path: path + "/parley.db"), clock: SystemClock(),
      options: Parley.Options(domains: ["localhost"]),
      logger: Logger(label: "delivery") { _ in SwiftLogNoOpLogHandler() })
    parley.hub.setFederation(Unreachable())
    let realm = parley.realms[0].id
    let user = try await parley.work {
      try $0.insertUser(
        BareJID("romeo@localhost"), in: realm, profile: Profile(), createdAt: Timestamp(milliseconds: 1))
    }
    let romeo = Party(id: user.id, realm: realm, address: user.address)
    let draft = MessageDraft(
      to: try BareJID("juliet@capulet.example"), content: Content(kind: .text, text: "What light"),
      envelope: Envelope(type: .chat, id: "c1"), traits: [.counts, .archived, .fromApp],
      key: RepeatKey(rule: .app, id: "c1", bodyHash: 1))
    let said = try #require(try await parley.post(.message(draft), by: romeo).entry)
    let pair = DomainPair(local: "localhost", remote: "capulet.example")
    try await parley.post(.outbox(.bounce(pair, positions: .zero ... .end, .notFound(pair.remote))), by: romeo)

    let page = try await parley.read { try FeedPage.read(romeo, after: said.position, limit: 9, $0) }
    let entry = try #require(page.log.entries.first)
    let rendering = Rendering(parley: parley, realm: realm)
    let told = try event(
      EventForm.of(entry, rendering, isAnonymized: false, for: romeo.id, page.subjects))
    #expect(told["type"]?.string == "message.updated")
    let message = try #require(told["data"]?["message"])
    #expect(message["id"]?.string == said.id.description)
    #expect(message["clientId"]?.string == "c1")
    #expect(message["delivery"]?["state"]?.string == "failed")
    #expect(message["delivery"]?["code"]?.string == "remote-server-not-found")
    #expect(message["delivery"]?["text"]?.string?.contains("capulet.example") == true)
    #expect(page.log.entries.count == 1)
  }
}

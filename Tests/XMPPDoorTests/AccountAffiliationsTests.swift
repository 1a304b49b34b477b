import Addresses
import Basics
import Dialogs
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// What servers tell each other of accounts (XEP-0489).
@Suite(.timeLimit(.minutes(1))) struct AccountAffiliationsTests {
  @Test("7: the day, and of old accounts the year") func sinceIsApproximate() throws {
    let time = try #require(Timestamp("2026-11-23T12:34:56Z"))
    let later = { (days: Int64) in Timestamp(milliseconds: time.milliseconds + days * 86_400_000) }
    #expect(AccountAffiliations.since(time, at: later(29)) == "2026-11-23T00:00:00Z")
    #expect(AccountAffiliations.since(time, at: later(30)) == "2026-01-01T00:00:00Z")
  }

  @Test("4.2: no client says it of itself") func aClientsOwnIsRemoved() throws {
    let info = try element { $0.raw("<info xmlns='urn:xmpp:raa:0' affiliation='admin'/>") }
    #expect(StanzaIDs.isStripped(info, domain: "localhost"))
  }

  private static let message = """
    <message from='ghost@denmark.example/x' to='hamlet@localhost' type='chat' id='m1'><body>Swear</body>\
    <info xmlns='urn:xmpp:raa:0' affiliation='anonymous'/></message>
    """

  @Test func aMessageThatIsSentAgainWithoutItIsTheSame() async throws {
    let scripted = try await ScriptedFederation()
    let hamlet = try await scripted.user("hamlet")
    let peer = await ScriptedStream.open(try scripted.link("denmark.example"))
    for text in [Self.message, Self.message.replacing(/<info[^>]*>/, with: "")] { peer.send(text) }
    await peer.link.ask { _ in }
    let found = try await scripted.parley.work {
      try $0.archive(of: .own(hamlet), ArchiveQuery(limit: 9)).entries.count
    }
    #expect(found == 1)
    try await scripted.end()
  }

  /// Returns whether the sender counts as anonymous when the server has answered with these features.
  private func isBelieved(of features: [String]) async throws -> Bool {
    let scripted = try await ScriptedFederation()
    _ = try await scripted.user("hamlet")
    let peer = await ScriptedStream.open(try scripted.link("denmark.example"))
    peer.send(Self.message)
    let question = await peer.next { $0.contains("disco#info") } ?? ""
    let id = try #require(question.firstMatch(of: /\sid=['"]([^'"]*)/)?.1)
    peer.send(
      """
      <iq type='result' id='\(id)' from='denmark.example' to='localhost'>\
      <query xmlns='http://jabber.org/protocol/disco#info'>\
      \(features.map { "<feature var='\($0)'/>" }.joined())</query></iq>
      """)
    // It is noted on the link's loop, some time after the answer has come.
    while await peer.link.ask({ $0.work?.announcedAffiliations ?? .asked }) == .asked {}
    let ghost = try bare("ghost@denmark.example")
    let isAnonymous = scripted.federation.isAnonymous(ghost)
    // Registered meanwhile.
    peer.send(Self.message.replacing("anonymous", with: "registered"))
    let after = await peer.link.ask { _ in scripted.federation.isAnonymous(ghost) }
    #expect(!after)
    try await scripted.end()
    return isAnonymous
  }

  @Test("4.2: only if the server has announced it") func whatIsNotAnnouncedIsNotBelieved() async throws {
    #expect(try await isBelieved(of: ["urn:xmpp:raa:0", "urn:xmpp:raa:0#embed-message"]))
    #expect(try await !isBelieved(of: ["urn:xmpp:raa:0", "urn:xmpp:raa:0#embed-presence-sub"]))
  }
}

import Testing

@testable import ImportSources

@Suite struct HistoryStageTests {
  private func copy(
    _ time: Int64, of owner: String, with peer: String, inbound: Bool, offline: Bool = false, id: String = "1",
    digest: UInt64 = 1
  ) -> MessageCopy {
    MessageCopy(
      owner: owner, time: time, peer: peer, isInbound: inbound, isOffline: offline, id: id, digest: digest, xml: owner)
  }

  private func merged(_ copies: [MessageCopy]) throws -> [MessageRecord] {
    let stage = try HistoryStage()
    for copy in copies { try stage.add(copy, Place(file: "x")) }
    var messages: [MessageRecord] = []
    while let (record, _) = try stage.next() { if case .message(let message) = record { messages.append(message) } }
    return messages
  }

  @Test("The copies of both users are one message, in the order of time") func pairs() throws {
    let messages = try merged([
      copy(5_000, of: "romeo@a", with: "juliet@a", inbound: false, id: "2"),
      copy(1_000, of: "romeo@a", with: "juliet@a", inbound: false),
      copy(1_400, of: "juliet@a", with: "romeo@a", inbound: true),
      copy(90_000, of: "juliet@a", with: "romeo@a", inbound: true, id: "3"),
    ])
    #expect(messages.map(\.time) == [1_000, 5_000, 90_000])
    #expect(messages.map(\.isInAuthorsArchive) == [true, true, false])
    #expect(messages.map(\.isInAddresseesArchive) == [true, false, true])
  }

  @Test("What somebody says twice stays two messages") func twice() throws {
    let messages = try merged([
      copy(1_000, of: "romeo@a", with: "juliet@a", inbound: false, id: ""),
      copy(2_000, of: "romeo@a", with: "juliet@a", inbound: false, id: ""),
      copy(1_000, of: "juliet@a", with: "romeo@a", inbound: true, id: ""),
      copy(2_000, of: "juliet@a", with: "romeo@a", inbound: true, id: ""),
    ])
    #expect(messages.map(\.time) == [1_000, 2_000])
    #expect(messages.allSatisfy { $0.isInAuthorsArchive && $0.isInAddresseesArchive })
  }

  @Test("So many equal messages wait for their other copies, and nothing is lost beyond") func manyEqualOnes() throws {
    let count = ImportLimits.copiesAlikeMax + 1
    let own = (0..<count).map { _ in copy(1_000, of: "romeo@a", with: "juliet@a", inbound: false) }
    let messages = try merged(own + [copy(1_000, of: "juliet@a", with: "romeo@a", inbound: true)])
    #expect(messages.count == count)
    #expect(messages.map(\.isInAddresseesArchive).firstIndex(of: true) == 1)
    let others = (0..<count).map { _ in copy(1_000, of: "juliet@a", with: "romeo@a", inbound: true) }
    let all = try merged(own + others)
    #expect(all.count { $0.isInAuthorsArchive } == count)
    #expect(all.count { $0.isInAddresseesArchive } == count)
  }

  @Test("Copies of one id that say different things are two messages, each on its own side") func unlike() throws {
    let messages = try merged([
      copy(1_000, of: "romeo@a", with: "juliet@a", inbound: false, digest: 1),
      copy(1_000, of: "juliet@a", with: "romeo@a", inbound: true, digest: 2),
    ])
    #expect(messages.map(\.isInAuthorsArchive) == [true, false])
    #expect(messages.map(\.isInAddresseesArchive) == [false, true])
  }

  @Test("A message that waits for its addressee is one with the archived one") func offline() throws {
    let messages = try merged([
      copy(1_000, of: "nurse@a", with: "romeo@a", inbound: true),
      copy(1_900, of: "nurse@a", with: "romeo@a", inbound: true, offline: true),
      copy(1_000, of: "romeo@a", with: "nurse@a", inbound: false),
      copy(60_000, of: "nurse@a", with: "romeo@a", inbound: true, offline: true, id: "9"),
    ])
    #expect(messages.map(\.isOffline) == [true, true])
    #expect(messages.map(\.isInAddresseesArchive) == [true, false])
    #expect(messages.map(\.isInAuthorsArchive) == [true, false])
  }
}

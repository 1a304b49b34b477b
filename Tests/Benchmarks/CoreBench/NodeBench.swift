import Dialogs

/// Measures publishing to interested contacts: one entry, one event, and one delivery of the same value per contact.
extension Bench {
  func reportNodes() async throws {
    let (owner, interested) = (parties[0], min(500, parties.count - 1))
    for party in parties[1...interested] {
      try await parley.post(.link(party.address, name: nil, groups: [], mutual: true), by: owner)
    }
    for session in sessions[1...interested] { parley.hub.update(session) { $0.interests = ["urn:bench"] } }
    let count = 50
    let before = told
    let start = cpuSeconds()
    for number in 0..<count {
      let item = NodePublication.Item(id: "\(number)", content: .opaque(extras))
      try await parley.post(.node(.publish(NodePublication(node: "urn:bench", item: item))), by: owner)
    }
    let publishing = cpuSeconds() - start
    guard told - before == count * interested else {
      throw Wrong(text: "\(told - before) deliveries of \(count) publications")
    }
    print(
      "a node, \(interested) contacts interested: \(micro(publishing, count)) us a publication, "
        + "\(micro(publishing, count * interested)) us per delivery")
  }
}

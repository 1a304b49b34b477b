import Dialogs

/// Measures publishing to interested contacts: one entry, one event, and one delivery of the same value per contact. Once to
/// contacts of the publisher's own, and once to as many by a contact group.
extension Bench {
  func reportNodes() async throws {
    let interested = min(1_000, parties.count) - 1
    let people = Array(parties[0...interested])
    for session in sessions[0...interested] { parley.hub.update(session) { $0.interests = ["urn:bench"] } }
    for party in people[1...] {
      try await parley.post(.link(party.address, name: nil, groups: [], mutual: true), by: people[0])
    }
    try await reportPublishing(by: people[0], to: interested, "\(interested) contacts")
    let realm = people[0].realm
    try await parley.post(
      .contactGroup(.put(realm, name: "bench", displayName: nil, hasEveryone: false)), by: Parley.nobody)
    try await parley.post(
      .contactGroup(.change(realm, name: "bench", adding: people.map(\.address), removing: [])), by: Parley.nobody)
    try await reportPublishing(by: people[1], to: interested, "\(interested) contacts by a group")
  }

  private func reportPublishing(by owner: Party, to count: Int, _ audience: String) async throws {
    // The owner's own sessions are interested, too.
    let (publications, receivers) = (50, count + 1)
    let before = told
    let start = cpuSeconds()
    for number in 0..<publications {
      let item = NodePublication.Item(id: "\(number)", content: .opaque(extras))
      try await parley.post(.node(.publish(NodePublication(node: "urn:bench", item: item))), by: owner)
    }
    let publishing = cpuSeconds() - start
    guard told - before == publications * receivers else {
      throw Wrong(text: "\(told - before) deliveries of \(publications) publications to \(audience)")
    }
    print(
      "a node, \(audience) interested: \(micro(publishing, publications)) us a publication, "
        + "\(micro(publishing, publications * receivers)) us per delivery")
  }
}

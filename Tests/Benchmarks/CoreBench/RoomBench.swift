import Addresses
import Dialogs
import Synchronization

/// Measures a room by the number of its occupants: entering and leaving alone in a batch, a message, and an app's login
/// by the number of its user's rooms.
extension Bench {
  func reportRooms() async throws {
    let owner = parties[0]
    let receipt = try await parley.post(.room(.create(RoomDraft(localpart: "hall", settings: .open))), by: owner)
    guard let room = receipt.room?.name else { throw Wrong(text: "there is no room") }
    let steps = [parties.count / 10, parties.count / 2, parties.count - 100]
    var there = 0
    for step in steps {
      try enter(there..<step, room, window: 100)
      there = step
      try measureRoom(room, there)
    }
    try await reportLogins(rooms: 500)
  }

  private func measureRoom(_ room: RoomName, _ there: Int) throws {
    let guests = parties.count - 100..<parties.count
    var start = cpuSeconds()
    try enter(guests, room, window: 1)
    let entering = cpuSeconds() - start
    start = cpuSeconds()
    try run(guests.map { index in (index, .room(.exit(.address(room.address), nil))) }, window: 1)
    let leaving = cpuSeconds() - start
    let count = 50
    let before = told
    start = cpuSeconds()
    try run(
      (0..<count).map { number in
        let draft = RoomMessageDraft(
          content: Content(kind: .text, text: "It is the east, and Juliet is the sun.", extras: extras),
          envelope: Envelope(type: .groupchat, fromResource: "bench", id: "\(there)-\(number)"),
          traits: [.counts, .archived],
          key: nil)
        return (0, .room(.say(.address(room.address), draft)))
      }, window: 1)
    let talking = cpuSeconds() - start
    guard told - before == count * there else { throw Wrong(text: "\(told - before) deliveries of \(count) messages") }
    print(
      "a room, \(there) there: \(micro(entering, guests.count)) us to enter, \(micro(leaving, guests.count)) us to leave, "
        + "\(micro(talking, count)) us a message, \(micro(talking, count * there)) us per delivery")
  }

  private func enter(_ indexes: Range<Int>, _ room: RoomName, window: Int) throws {
    try run(
      indexes.map { index in
        let entering = Entering(
          session: sessions[index], nick: "user\(index)", password: nil, presence: presence(of: parties[index]),
          isJoin: true)
        return (index, .room(.enter(.address(room.address), entering)))
      }, window: window)
  }

  /// Posts the intents with a bounded number in flight; all must succeed.
  private func run(_ intents: [(author: Int, intent: Intent)], window size: Int) throws {
    let window = Window(size)
    current.window.withLock { $0 = window }
    for (author, intent) in intents {
      window.enter()
      let post = Post(
        author: parties[author], intent: intent, completion: .session(sessions[author], token: 1))
      precondition(parley.submit(post), "the inbox is larger than any window here")
    }
    let failed = window.empty()
    if failed > 0 { throw Wrong(text: "\(failed) of \(intents.count) posts failed") }
  }

  private func reportLogins(rooms count: Int) async throws {
    let owner = parties[0]
    let member = MemberDraft(address: parties[1].address, affiliation: .member)
    for number in 0..<count {
      try await parley.post(
        .room(.create(RoomDraft(localpart: "r\(number)", settings: .group, members: [member]))), by: owner)
    }
    let times = 20
    let start = cpuSeconds()
    for number in 0..<times {
      let phone = Session(parties[1], lane: lane) { _ in }
      try await parley.post(
        .goOnline(OnlineSession(session: phone, door: .app, resource: "phone\(number)")), by: parties[1])
      try await parley.post(.room(.vacate(phone.id)), by: parties[1])
    }
    print("an app's login with \(count) rooms: \(micro(cpuSeconds() - start, times)) us, its end included")
  }
}

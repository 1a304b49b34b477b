import Addresses

/// The deliveries of one commit (or one signal), collected per lane: one hop per lane, not one per message.
struct LaneBatch {
  private var lanes: [(lane: Lane, items: [Lane.Item])] = []
  /// The fan-out that is being added.
  private var fanOut: FanOut?
  /// The deliveries of fan-outs so far, or the recipients that were looked for if these are more: somebody with thousands of
  /// contacts who are offline costs as many looks.
  private(set) var fanOutCount = 0
  private let load: FanOutLoad?
  /// The effects of the commit from the one whose deliveries are being added: the next post that is settled, or continues in a
  /// further one, is their post.
  var effects: ArraySlice<Effect> = []
  /// The address of the author of that post, once a large room has needed it: small rooms do not pay for the search.
  private var author: BareJID?

  /// - Parameter load: counts the deliveries of large rooms until they are taken apart.
  init(_ load: FanOutLoad? = nil) { self.load = load }

  mutating func add(_ delivery: Delivery, to session: any LiveSession) {
    if fanOut != nil { fanOutCount += delivery.count }
    add(.one(session, delivery, of: fanOut), on: session.lane)
  }

  /// Adds a signal to users behind a link: one delivery for all, or for each `Limits.laneStep` of them, so that the lane
  /// can serve others between two.
  mutating func add(_ addresses: [BareJID], behind link: any LiveSession, _ make: ([BareJID]) -> Signal) {
    if addresses.count <= Limits.laneStep {
      if !addresses.isEmpty { add(.signal(make(addresses), .direct), to: link) }
      return
    }
    for start in stride(from: 0, to: addresses.count, by: Limits.laneStep) {
      let end = min(start + Limits.laneStep, addresses.count)
      add(.signal(make(Array(addresses[start..<end])), .direct), to: link)
    }
  }

  private mutating func add(_ item: Lane.Item, on lane: Lane) {
    // There are as many lanes as cores: a scan beats a dictionary.
    for index in lanes.indices where lanes[index].lane === lane {
      lanes[index].items.append(item)
      return
    }
    lanes.append((lane, [item]))
  }

  /// Adds deliveries to so many sessions or addresses elsewhere, which are a fan-out of this origin if they are many.
  mutating func spread(_ origin: FanOut, to count: Int, _ add: (inout LaneBatch) -> Void) {
    fanOut = count >= Limits.fanOutMin ? origin : nil
    let before = fanOutCount
    add(&self)
    if fanOut != nil { fanOutCount = max(fanOutCount, before + count) }
    fanOut = nil
  }

  /// Adds deliveries to some of the `count` sessions that hear a room. `make` runs on the lane for each, and returns the
  /// delivery, or none.
  mutating func spread(
    _ room: DialogID, to recipients: Audiences.RecipientSet, of count: Int,
    _ make: @escaping @Sendable (Audiences.Recipient) -> Delivery?
  ) {
    let isLarge = count >= Limits.fanOutMin
    var roomLoad: RoomLoad?
    if isLarge, let load { roomLoad = RoomLoad(load: load, room: room, author: findAuthor()) }
    for here in recipients.lanes where here.count > 0 {
      roomLoad?.add(here.count)
      let spread = Lane.Spread(
        room: room, isLarge: isLarge, parts: here.parts, count: here.count, load: roomLoad, make: make)
      add(.many(spread), on: here.lane)
    }
  }

  /// Ends the deliveries of a post.
  mutating func postEnded() {
    effects = []
    author = nil
  }

  private mutating func findAuthor() -> BareJID {
    if let author { return author }
    var found = Parley.nobody.address
    for effect in effects {
      let post: Post
      if case .settled(let ended, _) = effect {
        post = ended
      } else if case .rest(let rest) = effect {
        post = rest
      } else {
        continue
      }
      // A component that acts in a user's name does so for the user.
      found = post.behalf?.user ?? post.author.address
      break
    }
    author = found
    return found
  }

  consuming func send() {
    for (lane, items) in lanes { lane.deliver(items) }
  }
}

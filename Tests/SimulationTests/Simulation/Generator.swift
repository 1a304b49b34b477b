/// SplitMix64: the same numbers for the same seed, everywhere.
public struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64
  public init(seed: UInt64) { state = seed }
  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return value ^ (value >> 31)
  }
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
  mutating func chance(_ part: Int, in whole: Int) -> Bool { below(whole) < part }
  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// Makes a script from a seed. Each script has its own length and number of users, its own mixture of steps, of which some
/// kinds are left out, and its own size of batches: what needs many of one kind and none of another is found so, too.
struct Generator {
  private enum Kind: CaseIterable {
    case talk, change, mark, hide, clear, block, room, people, seats, sessions, slow, again, fail, restart, wait, age
    /// How often it is chosen where it is not left out.
    var weight: Int {
      switch self {
      case .talk: 40
      case .slow: 20
      case .change, .mark, .again: 12
      case .people, .seats, .sessions: 8
      case .hide: 6
      case .clear: 4
      case .block, .fail, .age: 3
      case .room, .wait: 2
      case .restart: 1
      }
    }
  }

  /// The steps of a script, and how many users and rooms it has at most.
  private struct Size {
    let steps: Int
    let users: Int
    let rooms: Int
  }

  /// The sizes of scripts. The middle ones take half of the time, and find most for it: few users meet each other again
  /// and again, and have a past. The short ones compare everything with little in it; the long ones have many users, and
  /// much to remember.
  private static let sizes =
    Array(repeating: Size(steps: 200, users: 12, rooms: 4), count: 9)
    + Array(repeating: Size(steps: 700, users: 8, rooms: 4), count: 6)
    + [Size(steps: 2_000, users: Database.usersMax, rooms: 8)]

  private var random: SplitMix64
  private let size: Size
  private let users: Int
  private var kinds: [Kind] = []
  private let commits: Int
  private let appShare: Int
  private var rooms = 0
  private var messages: [(number: Int, author: Int, chat: Chat)] = []
  private var number = 0

  private init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    size = random.pick(Self.sizes)
    users = 2 + random.below(size.users - 1)
    commits = 1 << random.below(7)
    appShare = random.below(5)
    for kind in Kind.allCases where kind == .talk || !random.chance(1, in: 5) {
      kinds += Array(repeating: kind, count: kind.weight)
    }
  }

  static func script(seed: UInt64) -> [Action] {
    var generator = Generator(seed: seed)
    var script: [Action] = (0..<generator.users).map { .come($0, .app) }
    while script.count < generator.size.steps {
      if generator.random.chance(1, in: generator.commits) { script.append(.commit) }
      script.append(generator.action())
    }
    return script
  }

  private var user: Int { mutating get { random.below(users) } }
  private var door: Door { mutating get { random.chance(appShare, in: 4) ? .app : .xmpp } }
  private var room: Int { mutating get { random.below(rooms) } }

  private mutating func other(than user: Int) -> Int { (user + 1 + random.below(users - 1)) % users }

  private mutating func chat(of user: Int) -> Chat {
    rooms > 0 && random.chance(1, in: 2) ? .room(room) : .user(other(than: user))
  }

  /// The latest most of the time.
  private mutating func message() -> (number: Int, author: Int, chat: Chat) {
    let recent = min(messages.count, random.chance(3, in: 4) ? 4 : messages.count)
    return messages[messages.count - 1 - random.below(recent)]
  }

  private mutating func post(_ author: Int, _ chat: Chat) -> Int {
    number += 1
    messages.append((number, author, chat))
    return number
  }

  private mutating func action() -> Action {
    let user = user
    switch random.pick(kinds) {
    case .change where messages.isEmpty, .mark where messages.isEmpty, .hide where messages.isEmpty,
      .again where messages.isEmpty, .age where messages.isEmpty, .talk:
      let chat = chat(of: user)
      return .say(user, door, chat, message: post(user, chat))
    case .people where rooms == 0, .seats where rooms == 0, .room:
      if rooms == 0 || random.chance(rooms < size.rooms ? 1 : 0, in: 2) {
        rooms += 1
        return .create(user, room: rooms - 1, isOpen: random.chance(1, in: 2), sinceJoin: random.chance(1, in: 2))
      }
      if random.chance(1, in: 4) { return .destroy(user, room: room) }
      return .configure(
        user, room: room, sinceJoin: random.chance(1, in: 2), isReadOnly: random.chance(1, in: 4))
    case .change:
      let target = message()
      let actor = random.chance(1, in: 2) ? target.author : user
      if random.chance(1, in: 6) {
        let chat = chat(of: user)
        return .forward(user, target.number, to: chat, message: post(user, chat))
      }
      return .change(
        actor, door, random.pick(Change.allCases), of: target.number, message: post(actor, target.chat))
    case .mark: return .mark(user, random.pick(Mark.allCases), message().number)
    case .hide: return .hide(user, message().number)
    case .clear: return .clear(user, chat(of: user))
    case .block: return random.chance(1, in: 2) ? .block(user, other(than: user)) : .unblock(user, other(than: user))
    case .people:
      if random.chance(1, in: 3) { return .join(user, room: room) }
      let target = random.chance(1, in: 4) ? user : other(than: user)
      return .affiliate(user, target, random.pick([.outcast, .none, .member, .member, .admin, .owner]), room: room)
    case .seats:
      switch random.below(5) {
      case 0: return .kick(user, self.user, room: room)
      case 1: return .exit(user, room: room)
      default: return .enter(user, room: room)
      }
    case .sessions: return random.chance(1, in: 3) ? .go(user, door) : .come(user, door)
    case .slow:
      return random.pick([.stall(user), .resume(user), .lag(user), .catchUp(user), .fetch(user), .show(user)])
    case .again:
      let known = message()
      return random.chance(1, in: 4)
        ? .reuse(message: known.number, as: post(known.author, known.chat)) : .again(message: known.number)
    case .fail: return .fail(1 + random.below(random.chance(1, in: 4) ? 30 : 3), after: random.below(4))
    case .restart:
      if random.chance(2, in: 3) { return .commit }
      let reopens = random.chance(1, in: 8)
      return random.chance(1, in: 2)
        ? .restart(reopens: reopens) : .crash(isDurable: random.chance(1, in: 2), reopens: reopens)
    case .age:
      // Of the older half: much is to stay.
      let target = messages[random.below(1 + messages.count / 2)].number
      switch random.below(8) {
      case 0: return .holdDialog(of: target)
      case 1: return .holdUser(user)
      case 2: return .release
      case 3, 4: return .age(user, through: target)
      default: return .expire(through: target, limit: 1 + random.below(8))
      }
    case .wait: return .wait(random.below(5_000) - 500)
    }
  }
}

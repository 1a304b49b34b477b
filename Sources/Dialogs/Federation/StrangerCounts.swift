import Addresses
import Basics

/// Counts the users elsewhere who become known, so that no domain can fill the store with rows, and no account here can
/// write to addresses that it tries; and the conversations that strangers begin (`StrangerPolicy`). Theory:
///
/// A user elsewhere gets a row with their first act that is accepted, or with that of a user here towards them, and
/// keeps it: entries name it. The counts are of an hour or a day that ends for all at once, and are in memory alone: a
/// restart begins new ones. What a batch has counted is taken back if its transaction is rolled back. Only the
/// committer's thread uses them.
struct StrangerCounts {
  private struct Sender: Hashable {
    let home: RealmID
    let domain: String
  }
  /// The known domains of a zone (`KnownDomains`), or the others: each have bounds together, so that nobody has more by subdomains,
  /// and those of the others keep no known domain out.
  private struct Zone: Hashable {
    let home: RealmID
    let name: String
    let isKnown: Bool
  }
  private var hour: Int64 = 0
  private var day: Int64 = 0
  private var bySender: [Sender: Int] = [:]
  private var byHome: [RealmID: Int] = [:]
  private var byZone: [Zone: Int] = [:]
  private var byHost: [UserID: Int] = [:]
  private struct Conversation: Hashable {
    let stranger: BareJID
    let host: BareJID
    let home: RealmID
  }
  private struct Stranger: Hashable {
    let address: BareJID
    let home: RealmID
  }
  private var conversations: Set<Conversation> = []
  private var byStranger: [Stranger: Int] = [:]
  private var conversationsBySender: [Sender: Int] = [:]
  private var conversationsByZone: [Zone: Int] = [:]
  private var reportsByZone: [Zone: Int] = [:]
  private let known: KnownDomains

  private enum Change {
    case heard(Sender, in: Zone)
    case wrote(UserID)
    case began(Conversation, in: Zone)
    case met(Sender)
    case reported(in: Zone)
  }
  /// The changes that the batch has counted so far.
  private var batch: [Change] = []

  init(_ known: KnownDomains) { self.known = known }

  private mutating func turn(to time: Timestamp) {
    let hour = time.milliseconds / 3_600_000
    if hour != self.hour {
      (self.hour, bySender, byHost) = (hour, [:], [:])
      (conversations, byStranger, conversationsBySender, conversationsByZone) = ([], [:], [:], [:])
    }
    if hour / 24 != day { (day, byHome, byZone, reportsByZone) = (hour / 24, [:], [:], [:]) }
  }

  /// Counts a user of a domain elsewhere who becomes known to a home by an act of their own.
  mutating func count(_ stranger: BareJID, home: RealmID, at time: Timestamp) throws(Problem) {
    turn(to: time)
    let sender = Sender(home: home, domain: stranger.domain)
    if bySender[sender, default: 0] >= Limits.strangersPerDomainPerHour {
      throw Problem(
        .tooFast, "too-many-strangers",
        "At most \(Limits.strangersPerDomainPerHour) new users of one domain are heard an hour.",
        retryAfter: Self.rest(of: time, 3600))
    }
    let zone = self.zone(of: stranger, home: home)
    let most = zone.isKnown ? Limits.strangersPerKnownZonePerDay : Limits.strangersPerZonePerDay
    if byZone[zone, default: 0] >= most {
      throw Problem(
        .tooFast, "too-many-strangers",
        "At most \(most) new users of \(zone.name) and its subdomains are heard a day.",
        retryAfter: Self.rest(of: time, 86_400))
    }
    if byHome[home, default: 0] >= Limits.strangersPerDay {
      throw Problem(
        .tooFast, "too-many-strangers", "At most \(Limits.strangersPerDay) new users elsewhere are heard a day.",
        retryAfter: Self.rest(of: time, 86_400))
    }
    bySender[sender, default: 0] += 1
    byZone[zone, default: 0] += 1
    byHome[home, default: 0] += 1
    batch.append(.heard(sender, in: zone))
  }

  /// Counts an address elsewhere that nobody of the home has known, to which a user writes.
  mutating func count(host: UserID, atMost most: Int, at time: Timestamp) throws(Problem) {
    turn(to: time)
    if byHost[host, default: 0] >= most {
      throw Problem(
        .tooFast, "too-many-new-addresses", "You may write to at most \(most) new addresses elsewhere an hour.",
        retryAfter: Self.rest(of: time, 3600))
    }
    byHost[host, default: 0] += 1
    batch.append(.wrote(host))
  }

  /// Counts a conversation of a stranger, once an hour.
  ///
  /// - Parameter mostPerStranger: The conversations that this stranger begins in an hour.
  mutating func begin(
    from stranger: BareJID, to host: BareJID, home: RealmID, atMost mostPerStranger: Int, at time: Timestamp
  ) throws(Problem) {
    turn(to: time)
    let conversation = Conversation(stranger: stranger, host: host, home: home)
    if conversations.contains(conversation) { return }
    let (one, sender) = (Stranger(address: stranger, home: home), Sender(home: home, domain: stranger.domain))
    let zone = self.zone(of: stranger, home: home)
    let most = zone.isKnown ? Limits.conversationsPerKnownDomain : Limits.conversationsPerDomain
    let mostOfZone = zone.isKnown ? Limits.conversationsPerKnownZone : Limits.conversationsPerZone
    guard byStranger[one, default: 0] < mostPerStranger, conversationsBySender[sender, default: 0] < most,
      conversationsByZone[zone, default: 0] < mostOfZone,
      conversations.count < Limits.conversationsOfStrangers
    else {
      throw Problem(
        .tooFast, "strangers-limited",
        "Those who are not known here begin only a few conversations an hour. Ask to be added as a contact later.",
        retryAfter: Self.rest(of: time, 3600))
    }
    conversations.insert(conversation)
    byStranger[one, default: 0] += 1
    conversationsBySender[sender, default: 0] += 1
    conversationsByZone[zone, default: 0] += 1
    batch.append(.began(conversation, in: zone))
  }

  /// Notes that an acquaintance of somebody here has been heard.
  mutating func met(_ acquaintance: BareJID, home: RealmID) {
    guard known.insert(acquaintance.domain, home: home) else { return }
    batch.append(.met(Sender(home: home, domain: acquaintance.domain)))
  }

  /// Returns whether an acquaintance of somebody here has been heard from the address's domain.
  func isKnown(_ address: BareJID, home: RealmID) -> Bool { known.contains(address.domain, home: home) }

  /// Returns the part of its zone that an address's domain has bounds with.
  private func zone(of address: BareJID, home: RealmID) -> Zone {
    Zone(home: home, name: DomainZone.of(address.domain), isKnown: isKnown(address, home: home))
  }

  /// Checks that one more report of a server about a user here may be stored.
  mutating func checkReport(by server: BareJID, home: RealmID, at time: Timestamp) throws(Problem) {
    turn(to: time)
    let zone = self.zone(of: server, home: home)
    let most = zone.isKnown ? Limits.reportsOfKnownZonePerDayMax : Limits.reportsOfZonePerDayMax
    if reportsByZone[zone, default: 0] >= most {
      throw Problem(
        .tooFast, "too-many-reports", "At most \(most) reports of \(zone.name) and its subdomains are taken a day.",
        retryAfter: Self.rest(of: time, 86_400))
    }
  }

  /// Counts a report that is stored.
  mutating func countReport(by server: BareJID, home: RealmID) {
    let zone = self.zone(of: server, home: home)
    reportsByZone[zone, default: 0] += 1
    batch.append(.reported(in: zone))
  }

  // MARK: The batch

  /// Keeps the counted changes, as the batch is durable.
  mutating func settled() { batch.removeAll(keepingCapacity: true) }

  /// Takes back the changes that the batch has counted, except from counts that have ended meanwhile.
  mutating func rollBack() {
    for change in batch {
      switch change {
      case .heard(let sender, in: let zone):
        Self.takeBack(sender, from: &bySender)
        Self.takeBack(zone, from: &byZone)
        Self.takeBack(sender.home, from: &byHome)
      case .wrote(let host): Self.takeBack(host, from: &byHost)
      case .began(let conversation, in: let zone):
        guard conversations.remove(conversation) != nil else { continue }
        let (stranger, home) = (conversation.stranger, conversation.home)
        Self.takeBack(Stranger(address: stranger, home: home), from: &byStranger)
        Self.takeBack(Sender(home: home, domain: stranger.domain), from: &conversationsBySender)
        Self.takeBack(zone, from: &conversationsByZone)
      case .met(let sender): known.remove(sender.domain, home: sender.home)
      case .reported(in: let zone): Self.takeBack(zone, from: &reportsByZone)
      }
    }
    batch = []
  }

  static func takeBack<Key: Hashable>(_ key: Key, from counts: inout [Key: Int]) {
    guard let count = counts[key] else { return }
    counts[key] = count > 1 ? count - 1 : nil
  }

  /// Returns the seconds until the hour or day ends.
  private static func rest(of time: Timestamp, _ seconds: Int64) -> Int {
    Int(seconds - time.milliseconds / 1000 % seconds)
  }
}

import Dialogs

/// The use that a link is of at the moment, as far as it matters where there are too many links.
enum LinkUse: UInt8 {
  /// It has a stream, opens one, or has rows to send.
  case busy
  /// It has no stream, and at most stanzas to send that are stored nowhere.
  case waiting
  /// It has no stream, and nothing to send.
  case idle
}

/// The links that can make room for others, as a value: idle ones in the order in which they became idle, and those that wait, by zone
/// (`DomainZone`). A change costs the same however many links there are.
struct SpareLinks<Link: AnyObject> {
  private enum Place {
    case idle(Int)
    case waiting(zone: String)
  }

  private var places: [ObjectIdentifier: Place] = [:]
  private var idle = NumberedQueue<Link>()
  private var lastNumber = 0
  private var waiting: [String: [ObjectIdentifier: Link]] = [:]

  /// The number of idle links.
  var idleCount: Int { idle.count }

  /// Notes the use that a link is of from now on.
  mutating func note(_ link: Link, of zone: String, _ use: LinkUse) {
    let id = ObjectIdentifier(link)
    switch places.removeValue(forKey: id) {
    case .idle(let number): idle.remove(number)
    case .waiting(let zone): removeWaiting(id, of: zone)
    case nil: break
    }
    switch use {
    case .busy: break
    case .waiting:
      waiting[zone, default: [:]][id] = link
      places[id] = .waiting(zone: zone)
    case .idle:
      lastNumber += 1
      idle.append(link, as: lastNumber)
      places[id] = .idle(lastNumber)
    }
  }

  /// Removes and returns the link that was idle longest.
  mutating func takeIdle() -> Link? {
    guard let link = idle.popFirst() else { return nil }
    places[ObjectIdentifier(link)] = nil
    return link
  }

  /// Removes and returns so many links that wait: those of the zone with the most of them, then those of the next one. It looks at all
  /// zones.
  mutating func takeWaiting(_ max: Int) -> [Link] {
    var taken: [Link] = []
    let zones = waiting.map { (name: $0.key, count: $0.value.count) }.sorted { $0.count > $1.count }
    for zone in zones where taken.count < max {
      for (id, link) in Array((waiting[zone.name] ?? [:]).prefix(max - taken.count)) {
        places[id] = nil
        removeWaiting(id, of: zone.name)
        taken.append(link)
      }
    }
    return taken
  }

  private mutating func removeWaiting(_ id: ObjectIdentifier, of zone: String) {
    waiting[zone]?[id] = nil
    if waiting[zone]?.isEmpty == true { waiting[zone] = nil }
  }
}

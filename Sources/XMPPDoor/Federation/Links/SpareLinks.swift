import Dialogs

/// The present use of a link, which decides whether it can be forgotten when there are too many.
enum LinkUse: UInt8 {
  /// It has a stream, opens one, or has rows to send.
  case busy
  /// It has no stream, and no stored rows to send, but possibly live stanzas.
  case waiting
  /// It has no stream, and nothing to send.
  case idle
}

/// The links that can make room for others, as a value: idle ones in the order in which they became idle, and waiting ones by zone
/// (`DomainZone`). The cost of a change does not depend on the number of links.
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

  /// Notes the use of a link from now on.
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

  /// Removes and returns up to `max` waiting links: those of the zone with the most of them, then those of the next zone. It looks at
  /// all zones.
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

import Dialogs

/// The slots in which links open a stream, as a value. Theory:
///
/// A limited number of links open a stream at once, each in a slot, and the others wait. A server that does not answer keeps its slot
/// for minutes, and the owner of a zone (`DomainZone`) can have any number of such servers. So the zones are served in rotation
/// (`Turns`), each has a few slots at a time, and half of all slots is reserved for domains that local users know, whose zones have a
/// rotation of their own.
struct OpeningSlots<Link: AnyObject> {
  private struct Place {
    let link: Link
    let zone: String
    let isKnown: Bool
    /// The number in the queue; `nil` once the link has a slot.
    var number: Int?
  }

  private var known: Turns<String, Link>
  private var others: Turns<String, Link>
  private var places: [ObjectIdentifier: Place] = [:]

  /// - Parameters:
  ///   - max: The links that open a stream at once: half are for known domains, half for others, at least one each.
  ///   - perZoneMax: The maximum of either half for one zone.
  init(max: Int, perZoneMax: Int) {
    known = Turns(max: Swift.max(1, max / 2), perOwnerMax: perZoneMax)
    others = Turns(max: Swift.max(1, max - max / 2), perOwnerMax: perZoneMax)
  }

  /// Returns whether a link may open a stream now; otherwise it waits until `end` returns it.
  ///
  /// - Parameter isKnown: Whether local users know users of its domain.
  mutating func request(_ link: Link, of zone: String, isKnown: Bool) -> Bool {
    let id = ObjectIdentifier(link)
    if let place = places[id] { return place.number == nil }
    let number = isKnown ? known.add(link, of: zone) : others.add(link, of: zone)
    places[id] = Place(link: link, zone: zone, isKnown: isKnown, number: number)
    // No other waiting link may begin.
    return next(isKnown: isKnown) === link
  }

  /// Returns whether a link has a slot.
  func hasSlot(_ link: Link) -> Bool { places[ObjectIdentifier(link)].map { $0.number == nil } ?? false }

  /// Takes the slot from a link, or removes it from the queue. Returns the link that gets the slot.
  mutating func end(_ link: Link) -> Link? {
    guard let place = places.removeValue(forKey: ObjectIdentifier(link)) else { return nil }
    if let number = place.number {
      if place.isKnown { known.remove(number, of: place.zone) } else { others.remove(number, of: place.zone) }
      return nil
    }
    if place.isKnown { known.end(place.zone) } else { others.end(place.zone) }
    return next(isKnown: place.isKnown)
  }

  private mutating func next(isKnown: Bool) -> Link? {
    guard let next = isKnown ? known.next() : others.next() else { return nil }
    places[ObjectIdentifier(next.job)]?.number = nil
    return next.job
  }
}

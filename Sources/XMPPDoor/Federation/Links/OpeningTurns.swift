import Dialogs

/// The turns of links to open a stream, as a value. Theory:
///
/// So many links open a stream at once, and the others wait. A server that does not answer keeps its turn for minutes, and whoever has
/// a zone (`DomainZone`) has as many such servers as they want. So zones take turns, each has a few turns under way, and one half of all
/// is kept for domains with acquaintances here, which take turns among themselves.
struct OpeningTurns<Link: AnyObject> {
  private struct Place {
    let link: Link
    let zone: String
    let isKnown: Bool
    /// The number in the line; `nil` once it is the link's turn.
    var number: Int?
  }

  private var known: Turns<String, Link>
  private var others: Turns<String, Link>
  private var places: [ObjectIdentifier: Place] = [:]

  /// - Parameters:
  ///   - max: The links that open a stream at once: half of them are with known domains, at least one of either kind.
  ///   - perZoneMax: The same of the domains of either kind in one zone.
  init(max: Int, perZoneMax: Int) {
    known = Turns(max: Swift.max(1, max / 2), perOwnerMax: perZoneMax)
    others = Turns(max: Swift.max(1, max - max / 2), perOwnerMax: perZoneMax)
  }

  /// Returns whether a link may open a stream now; otherwise it waits until `end` returns it.
  ///
  /// - Parameter isKnown: Whether somebody here has acquaintances of its domain.
  mutating func request(_ link: Link, of zone: String, isKnown: Bool) -> Bool {
    let id = ObjectIdentifier(link)
    if let place = places[id] { return place.number == nil }
    let number = isKnown ? known.add(link, of: zone) : others.add(link, of: zone)
    places[id] = Place(link: link, zone: zone, isKnown: isKnown, number: number)
    // Nobody else waits who may begin.
    return next(isKnown: isKnown) === link
  }

  /// Returns whether it is a link's turn.
  func isTurn(of link: Link) -> Bool { places[ObjectIdentifier(link)].map { $0.number == nil } ?? false }

  /// Ends the turn of a link, or its waiting for one. Returns the link whose turn it is now.
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

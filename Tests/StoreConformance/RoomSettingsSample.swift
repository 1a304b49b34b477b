package import Dialogs

/// Settings for the tests that hold each table of settings to `RoomSettings`.
extension RoomSettings {
  /// Settings in which no property has its default, with values that both doors take.
  package static var noDefaults: RoomSettings {
    var settings = StoreConformance.whole()
    settings.about = "A"
    settings.occupantsMax = 20
    return settings
  }

  /// The names of all properties.
  package static var properties: Set<String> {
    Set(Mirror(reflecting: RoomSettings()).children.compactMap { $0.label })
  }

  /// Returns the names of the properties whose values differ.
  package func differences(from other: RoomSettings) -> Set<String> {
    let pairs = zip(Mirror(reflecting: self).children, Mirror(reflecting: other).children)
    return Set(pairs.filter { String(describing: $0.value) != String(describing: $1.value) }.compactMap { $0.0.label })
  }
}

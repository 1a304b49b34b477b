import Dialogs
import JSON
import XMLStream
import XMPP

/// XEP-0080: a location in a message. The body has it too, as a geo URI (RFC 5870), which is all that many clients
/// write and show.
struct Geolocation: Feature {
  static let xep = XEP(80, "1.10.0", "User Location", note: "In messages, with coordinates and a name.")

  private static let geoloc = Name("geoloc", "http://jabber.org/protocol/geoloc")

  func register(in table: inout FeatureTable) {
    table.read(Self.geoloc) { element, draft in
      draft.isKept = true
      func child(_ local: StaticString) -> String? {
        element.children.first { $0.is(Name(local, "http://jabber.org/protocol/geoloc")) }?.text
      }
      let name = child("description") ?? child("text")
      guard
        let place = Place(
          latitude: child("lat"), longitude: child("lon"),
          name: name.flatMap { $0.utf8.count <= Limits.contentFieldBytesMax ? $0 : nil })
      else { return }
      draft.place = place
    }
  }

  /// Writes a location. The body is the app's text, then the URI, unless it is the text.
  static func write(_ place: Place, caption: String, into writer: inout ElementWriter) {
    writer.element(.body) { writer in
      writer.text(caption.isEmpty || caption.hasPrefix("geo:") ? place.uri : caption + "\n" + place.uri)
    }
    writer.element(geoloc) { writer in
      element("lat", Place.decimal(place.lat), into: &writer)
      element("lon", Place.decimal(place.lng), into: &writer)
      if let name = place.name { element("description", name, into: &writer) }
    }
  }

  private static func element(_ local: StaticString, _ text: String, into writer: inout ElementWriter) {
    writer.element(local) { $0.text(text) }
  }

  /// The members of content of type location, as apps name them.
  struct Place: Hashable, Sendable {
    /// The degrees north and east (WGS 84).
    let lat: Double
    let lng: Double
    let name: String?

    /// Creates a place; `nil` if the coordinates are invalid.
    init?(latitude: String?, longitude: String?, name: String? = nil) {
      guard let lat = latitude.flatMap({ Double($0) }), let lng = longitude.flatMap({ Double($0) }), abs(lat) <= 90,
        abs(lng) <= 180
      else { return nil }
      self.lat = lat
      self.lng = lng
      self.name = name
    }

    /// Reads an app's content; `nil` if it has none of this type.
    init?(_ content: Content) {
      guard let fields = content.fields.flatMap({ try? JSONValue(parsing: $0) }),
        let lat = fields["lat"]?.number, let lng = fields["lng"]?.number
      else { return nil }
      self.lat = lat
      self.lng = lng
      name = fields["name"]?.string
    }

    /// Reads RFC 5870 3.3: `geo:lat,lon`, optionally an altitude and parameters, and nothing else. Numbers of another
    /// reference system are refused.
    init?(uri text: String) {
      guard text.hasPrefix("geo:"), text.utf8.count <= Limits.contentFieldBytesMax,
        !text.contains(where: \.isWhitespace)
      else { return nil }
      let parts = text.dropFirst(4).split(separator: ";", omittingEmptySubsequences: false)
      for parameter in parts.dropFirst() where parameter.lowercased().hasPrefix("crs=") {
        if parameter.lowercased() != "crs=wgs84" { return nil }
      }
      let numbers = (parts.first?.split(separator: "?").first ?? "").split(
        separator: ",", omittingEmptySubsequences: false)
      guard (2...3).contains(numbers.count) else { return nil }
      self.init(latitude: String(numbers[0]), longitude: String(numbers[1]))
    }

    var uri: String { "geo:\(Self.decimal(lat)),\(Self.decimal(lng))" }

    var fields: String {
      JSONValue.object(
        [.init("lat", JSONValue(lat)), .init("lng", JSONValue(lng))]
          + (name.map { [.init("name", .string($0))] } ?? [])
      ).text
    }

    /// Returns degrees without an exponent, to a centimetre.
    static func decimal(_ degrees: Double) -> String {
      let scaled = Int64((degrees * 1e7).rounded())
      let digits = String(scaled.magnitude % 10_000_000)
      var fraction = String(repeating: "0", count: 7 - digits.count) + digits
      while fraction.last == "0" { fraction.removeLast() }
      return (scaled < 0 ? "-" : "") + String(scaled.magnitude / 10_000_000) + (fraction.isEmpty ? "" : "." + fraction)
    }
  }
}

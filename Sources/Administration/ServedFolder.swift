import Basics

/// The data folder of a server, or that of a command. A server names its own in each answer at its admin socket, so that a
/// command does not act on a server that has another folder than the one that is meant.
package struct ServedFolder: Sendable {
  /// The field of answers.
  static let field = "parley-folder"

  package let path: String
  /// The numbers of its device and of itself there; nil if it cannot be looked at.
  private let place: String?

  package init(_ path: String) {
    self.path = path
    place = Files.status(path).map { "\($0.device):\($0.number)" }
  }

  /// Reads the field of an answer; nil if it cannot be read.
  init?(field text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 2, let path = PercentEncoding.decode(String(parts[1])) else { return nil }
    self.path = path
    place = parts[0] == "-" ? nil : String(parts[0])
  }

  /// The value of the field.
  var text: String { "\(place ?? "-") \(PercentEncoding.encode(path, keeping: "/"))" }

  /// Returns whether both are one folder, which may have two names. Two folders of one name count as the same, too: a command
  /// may be in another container than the server whose socket it is given, and names the folder as the server does.
  package func isSame(as other: ServedFolder) -> Bool { path == other.path || place != nil && place == other.place }
}

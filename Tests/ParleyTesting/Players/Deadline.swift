import NIOCore

/// How long anything in a play may take. Nothing waits for time to pass: this only turns a thing that never happens
/// into a failure.
enum Deadline {
  static let amount: TimeAmount = .seconds(30)
  static var fromNow: NIODeadline { .now() + amount }
}

/// Something that a player did not live to see, or met where it should not have.
public struct PlayerError: Error, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

import NIOCore

/// The maximum time of any step of a play. Nothing waits for time to pass: this only turns an event that never occurs
/// into a failure.
enum Deadline {
  static let amount: TimeAmount = .seconds(30)
  static var fromNow: NIODeadline { .now() + amount }
}

/// An expected event that did not occur, or an unexpected one.
public struct PlayerError: Error, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

import NIOCore

/// The maximum time of any step of a play. Nothing waits for time to pass: this only turns an event that never occurs
/// into a failure. It is long since a machine that builds meanwhile can hold a step up for half a minute.
enum Deadline {
  static let amount: TimeAmount = .seconds(90)
  static var fromNow: NIODeadline { .now() + amount }
}

/// An expected event that did not occur, or an unexpected one.
public struct PlayerError: Error, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

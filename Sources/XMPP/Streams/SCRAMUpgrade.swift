public import XMLStream

/// A task behind a login (XEP-0480 0.2.0 3): the client gives what another hash makes of its password, so that the account
/// can be logged in to by a mechanism that it had no keys for.
public struct SCRAMUpgrade: Sendable, Equatable {
  public let mechanism: SCRAMMechanism
  /// Fresh, for the keys to be made.
  public let salt: [UInt8]
  public let iterations: Int

  public init(mechanism: SCRAMMechanism, salt: [UInt8], iterations: Int) {
    self.mechanism = mechanism
    self.salt = salt
    self.iterations = iterations
  }

  /// Those that are offered, strongest first. Nobody is upgraded to SHA-1.
  public static let offered: [SCRAMMechanism] = [.sha512, .sha256]

  /// The name of its task (2.1).
  public static func task(_ mechanism: SCRAMMechanism) -> String { "UPGR-\(mechanism.name)" }

  /// `<continue/>` (XEP-0388 2.6.3), with the last word of the mechanism where it had one.
  public static func writeContinue(
    _ mechanism: SCRAMMechanism, data: [UInt8]?, into writer: inout ElementWriter
  ) {
    writer.open(Name("continue", NS.sasl2))
    if let data {
      writer.open("additional-data")
      writer.text(Base64.encode(data))
      writer.close()
    }
    writer.open("tasks")
    writer.open("task")
    writer.text(task(mechanism))
    writer.close()
    writer.close()
    writer.close()
  }

  /// What the client needs to know (XEP-0480 3).
  public func write(into writer: inout ElementWriter) {
    writer.open(Name("task-data", NS.sasl2))
    writer.open(Name("salt", NS.scramUpgrade))
    writer.attribute("iterations", "\(iterations)")
    writer.text(Base64.encode(salt))
    writer.close()
    writer.close()
  }
}

/// `SaltedPassword` (RFC 5802 3) on its way to be stored: as good as the password for one mechanism. Does not print itself.
public struct SaltedPassword: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  public let bytes: [UInt8]
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
  public var description: String { "SaltedPassword" }
  public var debugDescription: String { "SaltedPassword" }
}

/// The answer to `storeUpgrade`.
public enum UpgradeAnswer: Sendable, Equatable {
  /// It is durable, or others were quicker.
  case stored
  /// The password is no longer the one that was proved.
  case outdated
  /// The store cannot tell now.
  case unavailable
}

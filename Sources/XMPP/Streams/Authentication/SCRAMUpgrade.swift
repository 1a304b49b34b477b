import Basics
public import XMLStream

/// A task behind a login (XEP-0480 0.2.0 3): the client sends its password salted for another hash, so that the account
/// can be logged in to by a mechanism that it had no keys for.
public struct SCRAMUpgrade: Sendable, Equatable {
  public let mechanism: SCRAMMechanism
  /// The fresh salt of the new keys.
  public let salt: [UInt8]
  public let iterations: Int

  public init(mechanism: SCRAMMechanism, salt: [UInt8], iterations: Int) {
    self.mechanism = mechanism
    self.salt = salt
    self.iterations = iterations
  }

  /// The offered upgrades, strongest first. SHA-1 is never one.
  public static let offered: [SCRAMMechanism] = [.sha512, .sha256]

  /// Returns the name of a task (2.1).
  public static func task(_ mechanism: SCRAMMechanism) -> String { "UPGR-\(mechanism.name)" }

  /// Writes `<continue/>` (XEP-0388 2.6.3), with the final data of the mechanism if it had any.
  public static func writeContinue(
    _ mechanism: SCRAMMechanism, data: [UInt8]?, into writer: inout ElementWriter
  ) {
    writer.element(Name("continue", NS.sasl2)) { writer in
      if let data { writer.element("additional-data") { $0.text(Base64.encode(data)) } }
      writer.element("tasks") { writer in
        writer.element("task") { $0.text(task(mechanism)) }
      }
    }
  }

  /// Writes the salt and the iterations for the client (XEP-0480 3).
  public func write(into writer: inout ElementWriter) {
    writer.element(Name("task-data", NS.sasl2)) { writer in
      writer.element(Name("salt", NS.scramUpgrade)) { writer in
        writer.attribute("iterations", "\(iterations)")
        writer.text(Base64.encode(salt))
      }
    }
  }
}

/// `SaltedPassword` (RFC 5802 3) on its way to be stored: as good as the password for one mechanism. It does not print
/// itself.
public struct SaltedPassword: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
  public let bytes: [UInt8]
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
  public var description: String { "SaltedPassword" }
  public var debugDescription: String { "SaltedPassword" }
}

/// The answer to `storeUpgrade`.
public enum UpgradeAnswer: Sendable, Equatable {
  /// The keys are durable, or had been stored meanwhile.
  case stored
  /// The password is no longer the one that was proved.
  case outdated
  /// The store cannot tell now.
  case unavailable
}

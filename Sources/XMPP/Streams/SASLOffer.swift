/// What a client was offered to log in with, as far as SCRAM lets it check that nobody changed it on its way (XEP-0474 0.5.0).
///
/// The server puts a hash of its offer into its part of the SCRAM dialogue, which the password authenticates; a client that
/// knows the attribute compares it with what it saw, and any other takes it for one of the extensions it has to pass over
/// (RFC 5802 5.1). A hash of anything else than what was sent locks out the clients that look: so both are made of this.
public struct SASLOffer: Sendable, Equatable {
  /// The names in the list of the profile that the client logs in by, not of the other (4.1).
  public var mechanisms: [String]
  /// The types in `<sasl-channel-binding/>` (XEP-0440); empty where there is none.
  public var channelBindings: [String]

  public init(mechanisms: [String], channelBindings: [String]) {
    self.mechanisms = mechanisms
    self.channelBindings = channelBindings
  }

  /// The attribute `h` before it is encoded: the mechanism's hash of both lists, each sorted by octets (4.1).
  public func digest(_ mechanism: SCRAMMechanism) -> [UInt8] {
    var text = Self.joined(mechanisms)
    if !channelBindings.isEmpty { text += [0x1F] + Self.joined(channelBindings) }
    return mechanism.hash(text)
  }

  private static func joined(_ names: [String]) -> [UInt8] {
    let sorted = names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
    return Array(sorted.joined(separator: [0x1E]))
  }
}

/// The offer of mechanisms to a client, which SCRAM lets it check against changes on the way (XEP-0474 0.5.0).
///
/// The server puts a hash of its offer into its part of the SCRAM dialogue, which the password authenticates; a client
/// that knows the attribute compares it with the offer it saw, and any other takes it for one of the extensions that it
/// has to ignore (RFC 5802 5.1). A hash of anything else than what was sent locks out the clients that check: so both
/// are made of this value.
public struct SASLOffer: Sendable, Equatable {
  /// The names in the list of the profile that the client uses, not of the other (4.1).
  public var mechanisms: [String]
  /// The types in `<sasl-channel-binding/>` (XEP-0440); empty if there is none.
  public var channelBindings: [String]

  public init(mechanisms: [String], channelBindings: [String]) {
    self.mechanisms = mechanisms
    self.channelBindings = channelBindings
  }

  /// Returns the attribute `h` before it is encoded: the mechanism's hash of both lists, each sorted by octets (4.1).
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

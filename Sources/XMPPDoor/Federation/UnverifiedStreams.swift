/// The number of inbound streams that are not verified yet, of the server and of each address, as a value (RFC 6120
/// 13.12): whoever opens streams without end must not take the place of others.
struct UnverifiedStreams {
  private let max: Int
  private let perAddressMax: Int
  private(set) var count = 0
  private var byAddress: [String: Int] = [:]

  init(
    max: Int = FederationLimits.unverifiedMax, perAddressMax: Int = FederationLimits.unverifiedPerAddressMax
  ) {
    self.max = max
    self.perAddressMax = perAddressMax
  }

  /// Counts a stream. Returns `false` at a bound.
  ///
  /// - Parameter address: An address of IPv4, or a network of IPv6 (`ClientAddress.network`).
  mutating func admit(_ address: String) -> Bool {
    guard count < max, byAddress[address, default: 0] < perAddressMax else { return false }
    count += 1
    byAddress[address, default: 0] += 1
    return true
  }

  /// Counts the end or the verification of a stream that was admitted.
  mutating func release(_ address: String) {
    count -= 1
    let left = byAddress[address, default: 0] - 1
    byAddress[address] = left > 0 ? left : nil
  }
}

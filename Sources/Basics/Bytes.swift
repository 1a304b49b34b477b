extension [UInt8] {
  /// Returns bytes of the system's random number generator, which is suitable for keys.
  public static func random(count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
  }

  /// Compares in a time that depends on the lengths only, for secrets and values derived from them.
  public func isEqualInConstantTime(to other: [UInt8]) -> Bool {
    guard count == other.count else { return false }
    var difference: UInt8 = 0
    for index in indices { difference |= self[index] ^ other[index] }
    return difference == 0
  }
}

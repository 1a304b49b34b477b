public import HTTPTypes

extension HTTPFields {
  /// Adds the fields of draft-ietf-httpapi-ratelimit-headers-10, 3 and 4.
  ///
  /// - Parameters:
  ///   - policy: The policy's name, of ASCII letters, digits and `-`.
  ///   - quota: The quota units of a full window; nil omits the policy.
  ///   - window: The seconds in which the quota is restored.
  ///   - unit: The quota unit; nil for requests.
  ///   - remaining: The remaining quota units.
  ///   - reset: The seconds until more than `remaining` are available; nil if all are.
  public mutating func tellRate(
    policy: String, quota: Int?, window: Int?, unit: String?, remaining: Int, reset: Int?
  ) {
    if let quota {
      self[.rateLimitPolicy] =
        "\"\(policy)\";q=\(quota)" + (unit.map { ";qu=\"\($0)\"" } ?? "") + (window.map { ";w=\($0)" } ?? "")
    }
    self[.rateLimit] = "\"\(policy)\";r=\(remaining)" + (reset.map { ";t=\($0)" } ?? "")
  }
}

extension HTTPField.Name {
  // The names are constants of token characters only.
  static let rateLimit = HTTPField.Name("RateLimit")!
  static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
}

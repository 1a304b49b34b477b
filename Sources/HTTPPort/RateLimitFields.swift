public import HTTPTypes

extension HTTPFields {
  /// Tells how far a rate is drawn on, and what it is: draft-ietf-httpapi-ratelimit-headers-10, 3 and 4.
  ///
  /// - Parameters:
  ///   - policy: a name of ASCII letters, digits and `-`.
  ///   - quota: what is there at once; nil: the policy is not told.
  ///   - window: whole seconds in which that is there again.
  ///   - unit: what is counted, where that is not requests.
  ///   - reset: whole seconds until there is more than `remaining`; nil: there is all.
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
  // Constant names, made of token characters only.
  static let rateLimit = HTTPField.Name("RateLimit")!
  static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
}

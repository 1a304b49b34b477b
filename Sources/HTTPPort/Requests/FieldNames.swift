package import HTTPTypes

extension HTTPField.Name {
  /// The name of `Referrer-Policy`, a constant of token characters only.
  package static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}

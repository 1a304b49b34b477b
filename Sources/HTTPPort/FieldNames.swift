package import HTTPTypes

extension HTTPField.Name {
  /// The `Referrer-Policy` of a response; the name is constant and made of token characters only.
  package static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}

public struct ElementRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var xml: String

  public init(owner: String, xml: String) {
    self.owner = owner
    self.xml = xml
  }
}

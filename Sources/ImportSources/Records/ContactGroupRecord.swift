/// Users who have each other as contacts by an operator's order.
public struct ContactGroupRecord: Sendable, Equatable, Codable {
  public var domain: String
  public var name: String
  public var label: String?
  public var members: [String]
  public var hasEveryone: Bool
  /// The names of earlier groups whose members and those of this one see each other.
  public var sees: [String]

  public init(
    domain: String, name: String, label: String?, members: [String], hasEveryone: Bool, sees: [String] = []
  ) {
    self.sees = sees
    self.domain = domain
    self.name = name
    self.label = label
    self.members = members
    self.hasEveryone = hasEveryone
  }
}

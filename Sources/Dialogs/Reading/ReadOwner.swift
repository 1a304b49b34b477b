/// The owner of reads of the store, which take turns with those of other owners: a user, the network of somebody who has not logged in
/// yet, or a domain elsewhere. The server's own reads have none. Two owners are equal if their reads take turns together, whoever is
/// charged for them.
public struct ReadOwner: Hashable, Sendable {
  private enum Name: Hashable {
    case user(UserID)
    /// The address of a network, or the domain.
    case network(String)
  }

  private let name: Name
  /// The budget that pays for long reads; `nil` if nobody is charged.
  let budget: SendingBudget?

  private init(_ name: Name, chargedTo budget: SendingBudget? = nil) {
    self.name = name
    self.budget = budget
  }

  /// Creates the owner of a user's reads.
  ///
  /// - Parameter budget: The budget of whoever has asked for what is read (`Parley.readOwner`), also for what a session has missed, whose
  ///   pages take a millisecond or two; `nil` for other reads that follow from what others do, as others could use up
  ///   the budget otherwise.
  public static func user(_ id: UserID, chargedTo budget: SendingBudget? = nil) -> ReadOwner {
    ReadOwner(.user(id), chargedTo: budget)
  }

  /// Creates the owner of the reads of a network, by its address, or of a domain elsewhere.
  public static func network(_ name: String) -> ReadOwner { ReadOwner(.network(name)) }

  public static func == (one: ReadOwner, other: ReadOwner) -> Bool { one.name == other.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }

  /// The owner of the reads of this task, which a door binds around a request.
  @TaskLocal public static var current: ReadOwner?
}

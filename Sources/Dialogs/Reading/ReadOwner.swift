/// The reason for which a user's rows are read, which decides who is charged for a long read (`Parley.readOwner`).
public enum ReadReason: Sendable {
  /// The client asks for what is read, so its user is charged.
  case asked
  /// A session of the user has missed what is read. The user is charged beyond an allowance (`Limits.missedReadRate`).
  case missed
  /// The read follows from what others do. Nobody is charged.
  case followed
}

/// The owner of reads of the store, which take turns with those of other owners: a user, the network of somebody who has not logged in
/// yet, or a domain elsewhere. The server's own reads have none. Two owners are equal if their reads take turns together, whoever is
/// charged for them and whatever network each comes from.
public struct ReadOwner: Hashable, Sendable {
  private enum Name: Hashable {
    case user(UserID)
    /// The address of a network, or the domain.
    case network(String)
  }

  private let name: Name
  /// The name of the network or zone that a user's reads come from; `nil` if the user takes turns with all others.
  let networkName: String?
  /// The budget to which long reads are charged; `nil` for reads that are free.
  let budget: SendingBudget?
  /// Whether they are charged as reads of what a session has missed.
  let isForMissed: Bool

  private init(
    _ name: Name, in networkName: String? = nil, chargedTo budget: SendingBudget? = nil, isForMissed: Bool = false
  ) {
    self.name = name
    self.networkName = networkName
    self.budget = budget
    self.isForMissed = isForMissed
  }

  /// Creates the owner of a user's reads.
  ///
  /// - Parameters:
  ///   - network: The network that the user reads from, or the zone of the domain of a user elsewhere (`Parley.readOwner`); `nil` if
  ///     the user takes turns with all others.
  ///   - budget: The budget of whoever has asked for what is read (`Parley.readOwner`), also for what a session has missed, whose
  ///     pages take a millisecond or two; `nil` for other reads that follow from what others do, as others could use up the
  ///     budget otherwise.
  ///   - isForMissed: Whether a session has missed what is read, for which the budget has an allowance.
  public static func user(
    _ id: UserID, in network: String? = nil, chargedTo budget: SendingBudget? = nil, isForMissed: Bool = false
  ) -> ReadOwner {
    ReadOwner(.user(id), in: network, chargedTo: budget, isForMissed: isForMissed)
  }

  /// Creates the owner of the reads of a network, by its address, or of a domain elsewhere.
  public static func network(_ name: String) -> ReadOwner { ReadOwner(.network(name)) }

  /// The owner that stands for the network or zone, whose owners share its turns (`Turns.add`); `nil` if there is none.
  package var network: ReadOwner? { networkName.map { ReadOwner(.network($0)) } }

  public static func == (one: ReadOwner, other: ReadOwner) -> Bool { one.name == other.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }

  /// The owner of the reads of this task, which a door binds around a request.
  @TaskLocal public static var current: ReadOwner?
}

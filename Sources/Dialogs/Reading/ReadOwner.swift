/// The owner of reads of the store, which take turns with those of other owners: a user, the network of somebody who has not logged in yet, or a domain
/// elsewhere. The server's own reads have none.
public enum ReadOwner: Hashable, Sendable {
  case user(UserID)
  /// The address of a network, or the domain.
  case network(String)

  /// The owner of the reads of this task, which a door binds around a request.
  @TaskLocal public static var current: ReadOwner?
}

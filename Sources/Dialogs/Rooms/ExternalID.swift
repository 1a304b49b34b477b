/// The id that a room has outside this server, by which it is created only once.
///
/// The ids that the app's backend gives are one space in each realm. Those that users give are a space of each creator, so
/// that nobody can take, see or guess an id of another user or of the backend (docs/decisions/0047).
public enum ExternalID: Hashable, Sendable {
  case backend(String)
  /// The id that this user has given as the creator. A user is in one realm.
  case user(UserID, String)

  public var text: String {
    switch self {
    case .backend(let text), .user(_, let text): text
    }
  }
}

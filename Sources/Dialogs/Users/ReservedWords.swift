/// The localparts that mean something else where the path of a request has a user: `DELETE …/members/me` is about the
/// caller, whatever the others are called. No account is created with one. An account of before, or of another server, keeps
/// it, and its id for apps is the whole address, which is unambiguous.
///
/// `DocumentTests` derives the words from the routes of both HTTP APIs: a route with another one needs it here.
public enum ReservedWords {
  /// `me` is the caller. `.` and `..` are removed from a path by whoever sends it, also in their encoded forms (RFC 3986
  /// 5.2.4, WHATWG URL 4.4).
  public static let all: Set<String> = ["me", ".", ".."]

  /// Ids are rendered with every message, and most localparts are longer than any word.
  private static let bytesMax = all.map(\.utf8.count).max() ?? 0

  public static func contains(_ localpart: String) -> Bool {
    localpart.utf8.count <= bytesMax && all.contains(localpart)
  }
}

public import Dialogs

extension Accounts {
  /// Returns a sentence for each domain that has users in the store and is not served. A mistake in `domain` leaves all users
  /// behind in this way: the server starts, and nobody can log in.
  ///
  /// - Parameter domains: The served domains.
  public static func unserved(besides domains: [String], _ reader: any StoreReader) throws -> [String] {
    try reader.realms().filter { !$0.id.isRemote && !domains.contains($0.domain) }.compactMap { realm -> String? in
      let count = try reader.userCount(in: realm.id)
      guard count > 0 else { return nil }
      let users = count == 1 ? "1 user" : "\(count) users"
      return "The data folder has \(users) of \(realm.domain), which is not served: it is neither domain "
        + "(\(domains.first ?? "")) nor one of domains. They cannot log in. Correct domain, or add \(realm.domain) to domains."
    }
  }
}

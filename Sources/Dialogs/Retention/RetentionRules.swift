extension Judge {
  /// Checks an age of messages that a room's owners or a member want against the operators'. One that has become too long
  /// is left as it is: the shorter of both counts.
  func check(days: Int?, was: Int?, in realm: RealmID, isRoom: Bool) throws(Problem) {
    guard let days, days != was else { return }
    guard (1...Limits.retentionDaysMax).contains(days) else {
      throw Problem(
        .malformed, "retention-invalid", "retentionDays is 1 to \(Limits.retentionDaysMax), or null.",
        field: "retentionDays")
    }
    guard let domain = realms.realm(realm)?.domain else { return }
    let ages = retention.policy.bounds(of: domain)
    guard let bound = (isRoom ? ages.rooms : ages.privately)?.days, days > bound else { return }
    throw Problem(
      .malformed, "retention-too-long",
      "On this server messages in \(isRoom ? "rooms" : "private dialogs") go after \(bound) days.",
      field: "retentionDays")
  }
}

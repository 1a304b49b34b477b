import Basics
public import Dialogs

extension Accounts {
  /// Records that the user accepts these terms now. Repeating it keeps the time of the first acceptance.
  ///
  /// - Throws: `.malformed`, `.tooLarge`; `.forbidden` for guests, who store nothing permanently.
  public func accept(terms version: String, by user: Party) async throws(Problem) {
    if parley.isGuest(user.id) { throw Problem.guestLimited }
    if version.isEmpty { throw Problem(.malformed, "version-missing", "version is empty.", field: "version") }
    guard version.utf8.count <= AccountLimits.termsVersionBytesMax else {
      throw Problem(
        .tooLarge, "version-too-long", "version has at most \(AccountLimits.termsVersionBytesMax) bytes.",
        field: "version")
    }
    let now = parley.clock.now
    try await parley.work(keepingCaches: true) { writer in
      var settings = try writer.userSettings(of: user.id)
      if settings.terms?.version == version { return }
      settings.terms = TermsAcceptance(version: version, time: now)
      try writer.put(settings, of: user.id)
    }
  }
}

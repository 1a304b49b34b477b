import Dialogs
import XMLStream
import XMPP

/// XEP-0431: one more field in the archive's form. The search covers messages as an app shows them, after their last
/// edit; the results are the stanzas as they were sent, as always in an archive. All words must occur; case, accents
/// and width are ignored, and there is no query syntax.
struct FullTextSearch: Feature {
  static let xep = XEP(
    431, "0.2.0", "Full Text Search in MAM",
    note: "Whole words; any part of a word in Chinese, Japanese, Korean and Thai. In archives of users and of rooms.")

  static let field: StaticString = "{urn:xmpp:fulltext:0}fulltext"

  func register(in table: inout FeatureTable) { table.advertise("urn:xmpp:fulltext:0", on: [.account, .room]) }

  /// Returns the words to search for; `nil` if there are none.
  static func read(_ value: String) throws(StanzaError) -> String? {
    guard value.utf8.count <= DoorLimits.fullTextBytesMax else {
      throw StanzaError(.policyViolation, "a search has at most \(DoorLimits.fullTextBytesMax) bytes")
    }
    return value.allSatisfy(\.isWhitespace) ? nil : value
  }
}

extension Turn {
  /// Runs `then` when the index is up to date; it is updated by searches only.
  func whenIndexed(_ isSearch: Bool, _ then: @escaping () -> Void) {
    guard isSearch else { return then() }
    let parley = parley
    self.await { () throws(Problem) in
      try await MessageIndex(parley).update()
    } then: { [self] result in
      switch result {
      case .success: then()
      case .failure(let problem): fail(problem)
      }
    }
  }
}

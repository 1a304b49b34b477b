import Dialogs
import XMLStream
import XMPP

/// XEP-0431: a field more in the archive's form. What is found is what an app would
/// show: the message as it is after its last edit; what is sent is the stanza as it
/// was said, as ever in an archive. All words must be there; case, accents and width
/// do not matter, and nothing that is typed has a meaning of its own.
struct FullTextSearch: Feature {
  static let xep = XEP(
    431, "0.2.0", "Full Text Search in MAM",
    note: "whole words, in Chinese, Japanese, Korean and Thai any part; of users' archives and rooms'")

  static let field: StaticString = "{urn:xmpp:fulltext:0}fulltext"

  func register(in table: inout FeatureTable) { table.advertise("urn:xmpp:fulltext:0", on: [.account, .room]) }

  /// nil: nothing is searched for.
  static func read(_ value: String) throws(StanzaError) -> String? {
    guard value.utf8.count <= DoorLimits.fullTextBytesMax else {
      throw StanzaError(.policyViolation, "a search has at most \(DoorLimits.fullTextBytesMax) bytes")
    }
    return value.allSatisfy(\.isWhitespace) ? nil : value
  }
}

extension Turn {
  /// The index is brought up to date when somebody searches, and not before.
  func whenIndexed(_ isSearch: Bool, _ then: @escaping () -> Void) {
    guard isSearch else { return then() }
    let parley = parley
    self.await { () throws(Problem) in
      try await parley.indexMessages()
    } then: { [self] result in
      switch result {
      case .success: then()
      case .failure(let problem): fail(problem)
      }
    }
  }
}

import Addresses
import Testing

@testable import Dialogs

/// Archiving preferences (XEP-0441) as they are stored.
@Suite struct ArchivePreferencesTests {
  /// One address begins with a mark that combines with what is before it.
  @Test func whatIsStoredIsReadAsItWas() throws {
    let jids = try ["\u{301}a@x.example", "\u{3C0}@b\u{FC}cher.example/+ -", "x.example"].map { try JID($0) }
    for preferences in [
      ArchivePreferences(), ArchivePreferences(standard: .roster, always: jids),
      ArchivePreferences(standard: .never, always: [jids[1]], never: [jids[2], jids[0]]),
    ] {
      #expect(ArchivePreferences(preferences.bytes) == preferences)
    }
    #expect(ArchivePreferences([]) == ArchivePreferences())
  }
}

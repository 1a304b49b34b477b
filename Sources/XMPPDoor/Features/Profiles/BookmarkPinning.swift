import XMLStream
import XMPP

/// XEP-0469: marks a bookmark as important; to apps, the dialog is pinned.
struct BookmarkPinning: Feature {
  static let xep = XEP(469, "0.1.0", "Bookmark Pinning")

  static let pinned = Name("pinned", NS.bookmarksPinning)

  func register(in table: inout FeatureTable) {}
}

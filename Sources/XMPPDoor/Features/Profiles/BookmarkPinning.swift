import XMLStream
import XMPP

/// XEP-0469: that a bookmark is important; to apps, that the dialog is pinned.
struct BookmarkPinning: Feature {
  static let xep = XEP(469, "0.1.0", "Bookmark Pinning")

  static let pinned = Name("pinned", NS.bookmarksPinning)

  func register(in table: inout FeatureTable) {}
}

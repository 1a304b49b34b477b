import Dialogs
import XMLStream
import XMPP

/// XEP-0066 3: a URL beside the message. If the body is nothing but this URL, clients mean a file.
struct OutOfBand: Feature {
  static let xep = XEP(66, "1.5", "Out of Band Data", note: "In messages, and in the answer of XEP-0077.")

  private static let url = Name("url", NS.oob)
  private static let x = Name("x", NS.oob)

  func register(in table: inout FeatureTable) {
    table.read(Self.x) { element, draft in
      draft.isKept = true
      guard draft.address == nil, let url = element.first(Self.url)?.text, FileSharing.isUsable(url) else { return }
      draft.address = url
    }
  }

  static func write(_ url: String, into writer: inout ElementWriter) {
    writer.element(x) { writer in
      writer.element("url") { $0.text(url) }
    }
  }
}

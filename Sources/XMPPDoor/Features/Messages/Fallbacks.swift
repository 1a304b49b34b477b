import XMLStream
import XMPP

/// XEP-0428: the parts of a body that are meant for clients without a XEP. Apps understand replies, so they are shown a
/// reply without its quote; XMPP clients get it as it was sent.
struct Fallbacks: Feature {
  static let xep = XEP(
    428, "0.2.1", "Fallback Indication", note: "For quotes in replies and addresses of files, which apps do not show.")

  private static let fallback = Name("fallback", NS.fallback)
  private static let body = Name("body", NS.fallback)
  /// The most fallbacks of one message; further ones are shown.
  private static let rangesMax = 16

  func register(in table: inout FeatureTable) {
    table.read(Self.fallback) { element, draft in
      let isFile = element.has("for", equalTo: NS.sfs)
      guard isFile || element.has("for", equalTo: NS.reply) else { return }
      for child in element.children where child.is(Self.body) && draft.fallbacks.count < Self.rangesMax {
        if isFile, child["start"] == nil, child["end"] == nil {
          draft.fallbacks.append(0..<Int.max)
          continue
        }
        // Without bounds it is the whole body, which then has no other content.
        guard let start = child["start"].flatMap({ Int($0) }), let end = child["end"].flatMap({ Int($0) }),
          start >= 0, start < end
        else { continue }
        draft.fallbacks.append(start..<end)
      }
    }
  }

  /// Marks the whole body as a fallback for the XEP of this namespace.
  static func write(for namespace: StaticString, into writer: inout ElementWriter) {
    writer.element(fallback) { $0.attribute("for", namespace) }
  }

  /// Marks a part of the body; `nil` for all of it, written with `<body/>` as in XEP-0447 2.1.
  static func write(for namespace: StaticString, range: Range<Int>?, into writer: inout ElementWriter) {
    writer.element(fallback) { writer in
      writer.attribute("for", namespace)
      writer.element(body) { writer in
        if let range {
          writer.attribute("start", range.lowerBound)
          writer.attribute("end", range.upperBound)
        }
      }
    }
  }
}

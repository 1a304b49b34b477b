import Basics
import Dialogs
import XMLStream
import XMPP

/// XEP-0447: a file in a message, and its source. With the elements of XEP-0446 (its metadata), XEP-0300 (its hash) and
/// XEP-0264 0.4.1 (its thumbnail).
struct FileSharing: Feature {
  static let xep = XEP(
    447, "0.3.1", "Stateless file sharing",
    note: "Files at one address, with XEP-0264. Other elements are forwarded unchanged.")

  private static let sharing = Name("file-sharing", NS.sfs)
  private static let sources = Name("sources", NS.sfs)
  private static let urlData = Name("url-data", "http://jabber.org/protocol/url-data")
  private static let file = Name("file", NS.fileMetadata)
  private static let hash = Name("hash", NS.hashes)
  private static let thumbnail = Name("thumbnail", NS.thumbnails)

  func register(in table: inout FeatureTable) {
    table.read(Self.sharing) { element, draft in
      draft.isKept = true
      guard draft.files.count < Limits.attachmentsMax, let file = Self.read(element) else { return }
      draft.files.append(file)
    }
  }

  /// Reads a file; `nil` if it has no URL yet, or none that an app could open.
  private static func read(_ element: Element) -> Attachment? {
    guard let source = element.first(sources)?.children.first(where: { $0.is(urlData) }),
      let url = source["target"], isUsable(url)
    else { return nil }
    var attachment = Attachment(blob: nil, url: url)
    for child in element.first(file)?.children ?? element.children where child.namespace == "\(NS.fileMetadata)" {
      let text = child.text
      guard text.utf8.count <= Limits.blobNameBytesMax else { continue }
      switch child.local {
      case "media-type": attachment.mediaType = MediaType.essence(text)
      case "name": attachment.name = text
      case "size": attachment.size = Int64(text).flatMap { $0 >= 0 ? $0 : nil }
      case "width": attachment.shape.width = number(text)
      case "height": attachment.shape.height = number(text)
      case "length": attachment.shape.milliseconds = number(text)
      default: break
      }
    }
    for child in element.first(file)?.children ?? element.children
    where child.is(hash) && child.has("algo", equalTo: "sha-256") {
      attachment.sha256 = Base64.decode(Array(child.text.utf8)).flatMap { $0.count == 32 ? $0 : nil }
    }
    for child in element.first(file)?.children ?? element.children where child.is(thumbnail) {
      // The first thumbnail that an app can open: `cid:` is requested from the sender alone (XEP-0231).
      guard attachment.thumbnail == nil, let uri = child["uri"], isUsable(uri) else { continue }
      attachment.thumbnail = Attachment.Thumbnail(
        url: uri, mediaType: child["media-type"].flatMap { MediaType.essence($0) },
        width: child["width"].flatMap(number), height: child["height"].flatMap(number))
    }
    return attachment
  }

  private static func number(_ text: String) -> Int? {
    Int(text).flatMap { (0...Int(Int32.max)).contains($0) ? $0 : nil }
  }

  /// Returns whether an app may open a URL. A file that is encrypted for its readers is of no use to others.
  static func isUsable(_ url: String) -> Bool {
    url.utf8.count <= Limits.attachmentURLBytesMax && (url.hasPrefix("https://") || url.hasPrefix("http://"))
      && !url.contains { $0.isWhitespace }
  }

  // MARK: Writing an app's file

  /// Writes a file. The body is the app's text, then the URL, which clients that know the rest do not show (2.1).
  static func write(_ attachment: Attachment, caption: String, into writer: inout ElementWriter) {
    let lead = caption.isEmpty ? "" : caption + "\n"
    writer.element(.body) { $0.text(lead + attachment.url) }
    OutOfBand.write(attachment.url, into: &writer)
    writer.element(sharing) { writer in
      let isShown = attachment.mediaType.map { !$0.hasPrefix("application/") } ?? false
      writer.attribute("disposition", isShown ? "inline" : "attachment" as StaticString)
      writer.element(file) { writer in
        element("media-type", attachment.mediaType, into: &writer)
        element("name", attachment.name, into: &writer)
        element("size", attachment.size.map { "\($0)" }, into: &writer)
        element("width", attachment.shape.width.map { "\($0)" }, into: &writer)
        element("height", attachment.shape.height.map { "\($0)" }, into: &writer)
        element("length", attachment.shape.milliseconds.map { "\($0)" }, into: &writer)
        if let sha256 = attachment.sha256 {
          writer.element(hash) { writer in
            writer.attribute("algo", "sha-256" as StaticString)
            writer.text(Base64.string(sha256))
          }
        }
        if let small = attachment.thumbnail {
          writer.element(thumbnail) { writer in
            writer.attribute("uri", small.url)
            if let type = small.mediaType { writer.attribute("media-type", type) }
            if let width = small.width { writer.attribute("width", "\(width)") }
            if let height = small.height { writer.attribute("height", "\(height)") }
          }
        }
      }
      writer.element(sources) { writer in
        writer.element(urlData) { $0.attribute("target", attachment.url) }
      }
    }
    let start = lead.unicodeScalars.count
    Fallbacks.write(
      for: NS.sfs, range: start == 0 ? nil : start..<start + attachment.url.unicodeScalars.count, into: &writer)
  }

  private static func element(_ local: StaticString, _ text: String?, into writer: inout ElementWriter) {
    guard let text else { return }
    writer.element(local) { $0.text(text) }
  }
}

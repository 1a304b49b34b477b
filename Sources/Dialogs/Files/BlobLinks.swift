import Addresses
import Basics
import Glibc

/// The URLs of blobs: `<base>/uploads/<id>/<name>`.
///
///     BlobLinks(base: "https://chat.example").prefix  // "https://chat.example/uploads/"
public struct BlobLinks: Hashable, Sendable {
  /// The first part of the path.
  public static let path = "/uploads/"

  /// The URL up to the id, with a slash at its end.
  public let prefix: String

  /// Creates links.
  ///
  /// - Parameter base: the server's public URL, without a slash at its end.
  public init(base: String) { prefix = base + Self.path }

  /// Whether all readers connect encrypted, as XEP-0363 5 requires.
  public var isSecure: Bool { prefix.hasPrefix("https://") }

  public func url(of blob: Blob) -> String { prefix + blob.id.description + "/" + PercentEncoding.encode(blob.name) }

  /// Returns the URL of a blob's thumbnail.
  public func thumbnailURL(of blob: Blob) -> String { url(of: blob) + "/" + Self.thumbnail }

  /// The last part of the path of a thumbnail.
  public static let thumbnail = "thumbnail.jpg"

  /// Returns the id in a URL; `nil` if it is not one of this server's.
  public func id(in url: some StringProtocol) -> BlobID? {
    guard url.utf8.starts(with: prefix.utf8) else { return nil }
    let rest = url.utf8.dropFirst(prefix.utf8.count)
    guard rest.count > 32, rest[rest.index(rest.startIndex, offsetBy: 32)] == UInt8(ascii: "/") else { return nil }
    return BlobID(String(decoding: rest.prefix(32), as: UTF8.self))
  }

  /// Returns the distinct ids of the URLs in a text, the first `limit`.
  public func ids(in text: String, limit: Int) -> [BlobID] {
    var text = text
    var prefix = prefix
    var found: [BlobID] = []
    text.withUTF8 { text in
      prefix.withUTF8 { prefix in
        guard let whole = text.baseAddress, let wanted = prefix.baseAddress else { return }
        var place = 0
        // Every message is searched, so this uses the C library, from one possible beginning to the next.
        while found.count < limit, text.count - place >= prefix.count + 32,
          let hit = memchr(whole + place, Int32(prefix[0]), text.count - place - prefix.count - 31)
        {
          place = UnsafeRawPointer(hit) - UnsafeRawPointer(whole) + 1
          guard memcmp(hit, wanted, prefix.count) == 0 else { continue }
          place += prefix.count - 1
          let id = BlobID(String(decoding: text[place..<place + 32], as: UTF8.self))
          if let id, !found.contains(id) { found.append(id) }
        }
      }
    }
    return found
  }

  /// Returns the stored name of a file: the last part of the client's, so that it is one part of a path everywhere, and
  /// within the limit of file systems; its extension is kept (XEP-0363 5). It has none of the characters that a shown name
  /// hides; its marks and spaces stay, so that a download has the sender's name.
  static func name(_ text: String) -> String {
    let last = text.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
    let scalars = last.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .surrogate, .unassigned: false
      default: !Line.hides(scalar)
      }
    }
    var name = String(String.UnicodeScalarView(scalars))
    if name.filter({ $0 != "." }).showsNothing { return "file" }
    if name.utf8.count > Limits.blobNameBytesMax {
      let dot = name.lastIndex(of: ".") ?? name.endIndex
      let ending = name[dot...].utf8.count <= Limits.blobNameBytesMax / 4 ? String(name[dot...]) : ""
      name = String(name[..<dot])
      while name.utf8.count + ending.utf8.count > Limits.blobNameBytesMax { name.removeLast() }
      name += ending
    }
    return name
  }
}

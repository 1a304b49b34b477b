/// Media types, as far as files need them.
public enum MediaType {
  /// The type of unknown content (RFC 2046 4.5.1).
  public static let unknown = "application/octet-stream"

  /// Returns type and subtype in lower case, without parameters; `nil` if it is no media type (RFC 9110 8.3.1).
  public static func essence(_ text: some StringProtocol) -> String? {
    let essence = String(text.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }).lowercased()
    guard essence.utf8.count <= Limits.mediaTypeBytesMax else { return nil }
    let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isToken) }) else { return nil }
    return essence
  }

  /// Returns whether a byte is a token character (RFC 9110 5.6.2).
  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  /// Returns the type of a common file extension; `nil` if it is unknown.
  public static func of(name: some StringProtocol) -> String? {
    guard let dot = name.lastIndex(of: ".") else { return nil }
    return byEnding[name[name.index(after: dot)...].lowercased()]
  }

  private static let byEnding: [String: String] = [
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
    "avif": "image/avif", "heic": "image/heic", "mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm",
    "mov": "video/quicktime", "mkv": "video/x-matroska", "mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg",
    "oga": "audio/ogg", "opus": "audio/ogg", "flac": "audio/flac", "wav": "audio/wav", "txt": "text/plain",
    "pdf": "application/pdf", "zip": "application/zip",
  ]

  /// Returns whether a browser shows the type without running anything in it.
  public static func isShown(_ type: String) -> Bool {
    shown.contains(type) || type.hasPrefix("audio/") || type.hasPrefix("video/")
  }

  private static let shown: Set<String> = [
    "text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/heic",
    "image/heif", "image/jxl", "image/tiff",
  ]

  /// Returns the type that a file is served with: types that could act on the server's origin, as a page or in one, are
  /// served as unknown.
  public static func served(_ type: String?) -> String {
    guard let type else { return unknown }
    if isShown(type) { return type }
    let subtype = type.drop { $0 != "/" }.dropFirst()
    let acts =
      type.hasPrefix("text/") || type.hasPrefix("message/") || type.hasPrefix("multipart/") || subtype == "xml"
      || subtype.hasSuffix("+xml") || ["script", "html", "wasm", "flash", "java"].contains { subtype.contains($0) }
    return acts ? unknown : type
  }
}

extension Content.Kind {
  /// Returns the kind under which an app shows a file.
  init(mediaType: String?) {
    switch mediaType?.prefix(while: { $0 != "/" }) {
    case "image": self = .image
    case "video": self = .video
    case "audio": self = .audio
    default: self = .file
    }
  }

  /// Whether the content is a file.
  public var isFile: Bool {
    switch self {
    case .image, .video, .audio, .file: true
    case .none, .text, .encrypted, .custom, .location, .contact, .sticker, .system, .call, .invitation: false
    }
  }
}

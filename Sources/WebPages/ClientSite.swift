import Basics
import CWebFiles
import Crypto
package import HTTPPort
import HTTPTypes
import Hummingbird
import NIOCore

/// The site of the web clients: pages at paths of their own, and the files that these load.
///
/// The files are compiled into the program (`Sources/CWebFiles`), and are compressed once at the start. A page is asked
/// for again at each visit, and answered 304 if it is the same. Everything else is at `/client/<hash>/`, where the hash is
/// that of all files, so that browsers keep it for ever and never mix two versions.
package struct ClientSite: Sendable {
  /// One client: the folder below `clients`, and the pages at fixed paths.
  package struct Client: Sendable {
    let folder: String
    /// The paths of the port with the file that each answers with, below the folder.
    let pages: [(path: String, file: String)]

    /// The chat.
    package static let chat = Client(
      folder: "web",
      pages: [("/", "index.html"), ("/manifest.webmanifest", "manifest.webmanifest"), ("/sw.js", "sw.js")])
    /// The page for administrators, who sign in as in any app, and for holders of an app key. It is served beside the chat,
    /// whose rules for names it has.
    package static let admin = Client(folder: "admin", pages: [("/admin", "index.html")])
  }

  private let clients: [Client]

  package init(_ clients: [Client]) { self.clients = clients }

  package var site: HTTPSite {
    let files = WebFile.all
    let base = "/client/" + WebFile.hash(files)
    // The SDK is shared by all clients.
    let folders = Set(clients.map(\.folder) + ["js"])
    var routes: [HTTPRoute] = []
    for (path, file) in files where folders.contains(String(path.prefix { $0 != "/" })) {
      routes.append(Self.route(base + "/" + path, Served(file, path, cache: "public, max-age=31536000, immutable")))
    }
    for client in clients {
      for page in client.pages {
        let path = client.folder + "/" + page.file
        guard let file = files.first(where: { $0.path == path })?.bytes else { continue }
        let text = String(decoding: file, as: UTF8.self).replacing("/client/0/", with: base + "/")
        routes.append(Self.route(page.path, Served(Array(text.utf8), path, cache: "no-cache")))
      }
    }
    return HTTPSite(routes: routes)
  }

  private static func route(_ path: String, _ served: Served) -> HTTPRoute {
    HTTPRoute(.get, path) { request, _ in served.response(to: request) }
  }
}

/// The files in the program.
private enum WebFile {
  /// All files by their path below `clients`, in the order of the list in `files.c`.
  static var all: [(path: String, bytes: [UInt8])] {
    UnsafeBufferPointer(start: parley_web_file_list(), count: parley_web_file_count).map {
      (String(cString: $0.path), Array(UnsafeBufferPointer(start: $0.bytes, count: $0.byte_count)))
    }
  }

  /// Returns a hash of all files, for addresses that change with them.
  static func hash(_ files: [(path: String, bytes: [UInt8])]) -> String {
    var hash = SHA256()
    for (path, bytes) in files {
      hash.update(data: Array(path.utf8) + [0])
      hash.update(data: Array(SHA256.hash(data: bytes)))
    }
    return Hex.string(hash.finalize().prefix(8))
  }
}

/// A file as it is sent: plain, and compressed for the clients that accept it.
private struct Served: Sendable {
  private let plain: ByteBuffer
  private let compressed: ByteBuffer?
  private let headers: HTTPFields
  private let tag: String

  init(_ bytes: [UInt8], _ path: String, cache: String) {
    plain = ByteBuffer(bytes: bytes)
    let kind = path.split(separator: ".").last.map(String.init) ?? ""
    // A picture is compressed already.
    compressed = kind == "png" ? nil : Gzip.compressed(bytes).map { ByteBuffer(bytes: $0) }
    tag = Hex.string(SHA256.hash(data: bytes).prefix(16))
    headers = [
      .contentType: Self.mediaTypes[kind] ?? "application/octet-stream",
      .cacheControl: cache,
      .vary: "Accept-Encoding",
      .contentSecurityPolicy: Self.policy,
      .xContentTypeOptions: "nosniff",
      .referrerPolicy: "no-referrer",
      .permissionsPolicy: "camera=(self), microphone=(self), geolocation=(self), display-capture=(self)",
      .openerPolicy: "same-origin",
    ]
  }

  func response(to request: Request) -> Response {
    var headers = headers
    let isCompressed = compressed != nil && Self.acceptsGzip(request)
    // RFC 9110 8.8.3.3: two encodings have two tags.
    let tag = "\"\(tag)\(isCompressed ? "-gzip" : "")\""
    headers[.eTag] = tag
    let held = request.headers[values: .ifNoneMatch].joined(separator: ",").split(separator: ",")
    if held.contains(where: { ["*", tag, "W/\(tag)"].contains($0.filter { $0 != " " }) }) {
      return Response(status: .notModified, headers: headers)
    }
    if isCompressed { headers[.contentEncoding] = "gzip" }
    return Response(
      status: .ok, headers: headers, body: ResponseBody(byteBuffer: (isCompressed ? compressed : plain) ?? plain))
  }

  /// RFC 9110 12.5.3: `gzip` is named without a weight of zero.
  private static func acceptsGzip(_ request: Request) -> Bool {
    request.headers[values: .acceptEncoding].flatMap { $0.lowercased().split(separator: ",") }.contains { coding in
      let parts = coding.split(separator: ";").map { $0.filter { $0 != " " } }
      guard let name = parts.first, name == "gzip" || name == "*" else { return false }
      // A weight is zero if it has no other digit: `q=0`, `q=0.000`.
      return !parts.dropFirst().contains { $0.hasPrefix("q=") && !$0.contains { "123456789".contains($0) } }
    }
  }

  private static let mediaTypes = [
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml", "png": "image/png", "webmanifest": "application/manifest+json",
  ]

  /// Nothing is loaded from elsewhere, nothing in a page is a script or a style, and no string becomes markup
  /// (`require-trusted-types-for`). `data:` and `blob:` are pictures and sounds that the client has made or fetched.
  private static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob: data:",
    "media-src 'self' blob:", "connect-src 'self'", "manifest-src 'self'", "worker-src 'self'", "base-uri 'none'",
    "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types parley",
  ].joined(separator: "; ")
}

extension HTTPField.Name {
  // Constant names, made of token characters only.
  static let permissionsPolicy = HTTPField.Name("Permissions-Policy")!
  static let openerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
}

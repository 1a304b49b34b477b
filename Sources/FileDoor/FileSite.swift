import Addresses
import Basics
package import Dialogs
package import HTTPPort
import HTTPTypes
import Hummingbird
import NIOCore

/// The site of users' files on the HTTP port: slots are filled with PUT and read with GET, for the slots of both doors.
/// Files that have come from another server are read at the paths that they had there, too.
package struct FileSite: Sendable {
  let parley: Parley
  /// The look-ups of paths without a route, by address.
  private let formerRate: RateLimiter<String>

  package init(parley: Parley) {
    self.parley = parley
    formerRate = RateLimiter(
      FileDoorLimits.formerRate, policy: "address", code: "requests-too-fast",
      text: "Too many requests from your address. Wait a little.", metrics: parley.metrics)
  }

  package var site: HTTPSite {
    let path = BlobLinks.path + "{id}/{name}"
    let thumbnailPath = path + "/" + BlobLinks.thumbnail
    let routes = [
      HTTPRoute(.put, path) { request, context in try await answered { try await put(request, context) } },
      HTTPRoute(.get, path) { request, context in
        try await answered {
          // HEAD of a slot returns the upload's progress, HEAD of a file its headers.
          let isSlot = request.method == .head && request.uri.queryParameters["key"] != nil
          return isSlot ? try await progress(request, context) : try await get(request, context)
        }
      },
      HTTPRoute(.patch, path) { request, context in try await answered { try await patch(request, context) } },
      HTTPRoute(.delete, path) { request, context in try await answered { try await delete(request, context) } },
      HTTPRoute(.options, path) { _, _ in
        var headers = Self.crossOrigin.merging(Self.preflight)
        headers[.uploadLimit] = parley.blobs.map { "max-size=\($0.policy.bytesMax)" }
        return Response(status: .noContent, headers: headers)
      },
      HTTPRoute(.get, thumbnailPath) { request, context in
        try await answered { try await thumbnail(request, context) }
      },
    ]
    return HTTPSite(routes: routes, otherwise: { request, context in try await former(request, context) })
  }

  // MARK: CORS for web clients of any origin (XEP-0363 8)

  private static let crossOrigin: HTTPFields = [
    .accessControlAllowOrigin: "*",
    .accessControlExposeHeaders: "Accept-Ranges, Content-Length, Content-Range, ETag, Last-Modified, Location, "
      + "Retry-After, Upload-Complete, Upload-Length, Upload-Limit, Upload-Offset",
  ]
  private static let preflight: HTTPFields = [
    .allow: "OPTIONS, HEAD, GET, PUT, PATCH, DELETE",
    .acceptPatch: ResumableUpload.mediaType,
    .accessControlAllowMethods: "OPTIONS, HEAD, GET, PUT, PATCH, DELETE",
    .accessControlAllowHeaders: "Authorization, Content-Type, If-None-Match, If-Range, Range, Upload-Complete, "
      + "Upload-Length, Upload-Offset",
    .accessControlMaxAge: "86400",
  ]

  /// Adds the CORS headers to refusals as well, so that a web client can read them.
  func answered(_ body: () async throws -> Response) async throws -> Response {
    do {
      var response = try await body()
      response.headers = response.headers.merging(Self.crossOrigin)
      return response
    } catch let problem as Problem {
      var headers = Self.crossOrigin
      if let seconds = problem.retryAfter { headers[.retryAfter] = "\(seconds)" }
      throw HTTPRefusal(
        status: Self.status(problem), code: problem.code, detail: problem.text, headers: headers)
    } catch let refusal as HTTPRefusal {
      throw HTTPRefusal(
        status: refusal.status, code: refusal.code, detail: refusal.detail,
        headers: refusal.headers.merging(Self.crossOrigin))
    }
  }

  private static func status(_ problem: Problem) -> Int {
    switch problem.code {
    case "disk-full": 507
    case "file-refused", "hash-mismatch": 422
    case "length-required": 411
    case "media-type-mismatch": 415
    default:
      switch problem.kind {
      case .malformed: 400
      case .forbidden: 403
      case .missing: 404
      case .conflict: 409
      case .tooLarge: 413
      case .overloaded, .tooFast: 503
      case .unsupported: 404
      case .unauthenticated, .unreachable, .blocked, .foreign, .internal, .refused: 500
      }
    }
  }

  static let unknown = HTTPRefusal(
    status: 404, code: "upload-unknown", detail: "There is no such file, or no longer.")

  static func place(_ context: HTTPContext) throws -> (id: BlobID, name: String) {
    guard let id = context.parameters.get("id").flatMap({ BlobID($0) }),
      let name = context.parameters.get("name").flatMap({ PercentEncoding.decode($0) })
    else { throw unknown }
    return (id, name)
  }

  static func key(_ request: Request) -> String { request.uri.queryParameters["key"].map { String($0) } ?? "" }

  // MARK: Writing

  private func put(_ request: Request, _ context: HTTPContext) async throws -> Response {
    let (id, name) = try Self.place(context)
    let upload = try await UserFiles(parley).upload(
      id, key: Self.key(request), name: name, length: request.headers[.contentLength].flatMap { Int64($0) },
      mediaType: request.headers[.contentType])
    // A slot is a logged-in user's.
    context.noteLogin(isOnDisk: true)
    do {
      // The port disconnects a client that stalls, which ends the body.
      for try await piece in request.body { try await upload.append(Array(piece.readableBytesView)) }
      let blob = try await upload.finish()
      return Response(status: .created, headers: [.location: parley.blobs?.policy.links.url(of: blob) ?? ""])
    } catch {
      await upload.cancel()
      throw error
    }
  }

  // MARK: Reading

  private func get(_ request: Request, _ context: HTTPContext) async throws -> Response {
    guard let (id, name) = try? Self.place(context) else {
      // The former server may have had the same folder.
      guard let response = try await former(request, context) else { throw Self.unknown }
      return response
    }
    guard let file = try await UserFiles(parley).open(id, name: name) else { throw Self.unknown }
    return try Self.answer(file, to: request, context)
  }

  /// Answers at the path that a file had at another server; `nil` if no file came from there.
  private func former(_ request: Request, _ context: HTTPContext) async throws -> Response? {
    do throws(Problem) {
      try formerRate.take(context.peer(of: request).address, now: parley.clock.now)
    } catch {
      var headers = Self.crossOrigin
      if let seconds = error.retryAfter { headers[.retryAfter] = "\(seconds)" }
      throw HTTPRefusal(status: 429, code: error.code, detail: error.text, headers: headers)
    }
    let file: OpenBlob?
    do throws(Problem) { file = try await UserFiles(parley).open(formerPath: request.uri.path) } catch {
      return try await answered { throw error }
    }
    guard let file else { return nil }
    return try await answered { try Self.answer(file, to: request, context) }
  }

  private static func answer(_ file: OpenBlob, to request: Request, _ context: HTTPContext) throws -> Response {
    let blob = file.blob
    var headers = headers(of: blob)
    if isHeld(blob, by: request) { return Response(status: .notModified, headers: headers) }
    headers.merge(safety(of: blob))
    var range = ByteRange.whole
    // A range applies to GET only (14.2), and only to the version of the file that `If-Range` names (13.1.5).
    if request.method == .get, request.headers[.ifRange].map({ isCurrent($0, headers) }) ?? true {
      range = ByteRange(request.headers[.range], size: blob.size)
    }
    switch range {
    case .whole: return Response(status: .ok, headers: headers, body: body(file, 0, blob.size, context))
    case .part(let part):
      headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound)/\(blob.size)"
      return Response(
        status: .partialContent, headers: headers,
        body: body(file, part.lowerBound, part.upperBound - part.lowerBound + 1, context))
    case .none:
      throw HTTPRefusal(
        status: 416, code: "range-unsatisfiable", detail: "The file has \(blob.size) bytes.",
        headers: [.contentRange: "bytes */\(blob.size)"])
    }
  }

  /// Returns a thumbnail, which is small and never sent in ranges.
  private func thumbnail(_ request: Request, _ context: HTTPContext) async throws -> Response {
    let (id, name) = try Self.place(context)
    guard let file = try await UserFiles(parley).openThumbnail(id, name: name) else { throw Self.unknown }
    var headers = Self.headers(of: file.blob)
    if Self.isHeld(file.blob, by: request) { return Response(status: .notModified, headers: headers) }
    headers.merge(Self.safety(type: "image/jpeg", name: BlobLinks.thumbnail))
    headers[.acceptRanges] = "none"
    let bytes = try await file.read(at: 0, count: Limits.thumbnailBytesMax)
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  private static func body(_ file: OpenBlob, _ start: Int64, _ count: Int64, _ context: HTTPContext) -> ResponseBody {
    context.body(length: Int(count)) { left in
      let wanted = min(FileDoorLimits.pieceBytes, left)
      let bytes = try await file.read(at: start + count - Int64(left), count: wanted)
      // The response is cut off rather than padded, so that the client notices.
      guard bytes.count == wanted else { throw Problem(.internal, "blob-cut", "The file is shorter than it was.") }
      return ByteBuffer(bytes: bytes)
    }
  }

  private static func headers(of blob: Blob) -> HTTPFields {
    [
      .eTag: "\"\(Hex.string((blob.sha256 ?? []).prefix(16)))\"",
      .lastModified: CivilTime(blob.createdAt).httpDate,
      // The file never changes but may be deleted: a shared cache would keep it for all users.
      .cacheControl: "private, max-age=86400, immutable",
      .acceptRanges: "bytes",
    ]
  }

  /// Whether the client's copy is current (RFC 9110 13.1.2, 13.1.3). Dates are compared as text.
  private static func isHeld(_ blob: Blob, by request: Request) -> Bool {
    let headers = headers(of: blob)
    let known = request.headers[values: .ifNoneMatch].joined(separator: ",")
    if !known.isEmpty {
      guard let tag = headers[.eTag] else { return false }
      return known.split(separator: ",").contains { ["*", tag, "W/\(tag)"].contains($0.filter { $0 != " " }) }
    }
    return request.headers[.ifModifiedSince].map { $0 == headers[.lastModified] } ?? false
  }

  private static func isCurrent(_ condition: String, _ headers: HTTPFields) -> Bool {
    condition == headers[.eTag] || condition == headers[.lastModified]
  }

  /// Returns the headers that prevent execution: files are written by users and served from the server's origin
  /// (XEP-0363 10).
  static func safety(of blob: Blob) -> HTTPFields {
    safety(type: MediaType.served(blob.mediaType), name: blob.name)
  }

  private static func safety(type: String, name: String) -> HTTPFields {
    let isShown = MediaType.isShown(type)
    return [
      .contentType: type == "text/plain" ? "text/plain; charset=utf-8" : type,
      .xContentTypeOptions: "nosniff",
      .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'; sandbox",
      // RFC 6266 4.3, 5: both forms, the older one in ASCII.
      .contentDisposition: (isShown ? "inline" : "attachment") + "; filename=\"\(plain(name))\"; "
        + "filename*=UTF-8''\(PercentEncoding.encode(name))",
      .crossOriginResourcePolicy: "cross-origin",
      .referrerPolicy: "no-referrer",
    ]
  }

  private static func plain(_ name: String) -> String {
    String(
      decoding: name.unicodeScalars.map { scalar -> UInt8 in
        let isPlain = (0x20...0x7e).contains(scalar.value) && scalar != "\"" && scalar != "\\" && scalar != "%"
        return isPlain ? UInt8(scalar.value) : UInt8(ascii: "_")
      }, as: UTF8.self)
  }
}

extension HTTPFields {
  fileprivate mutating func merge(_ others: HTTPFields) { for field in others { self[field.name] = field.value } }
  fileprivate func merging(_ others: HTTPFields) -> HTTPFields {
    var merged = self
    merged.merge(others)
    return merged
  }
}

extension HTTPField.Name {
  // The names are constants of token characters only.
  fileprivate static let crossOriginResourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy")!
}

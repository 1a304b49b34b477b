import Dialogs
import HTTPPort
import HTTPTypes
import Hummingbird

/// Resumable uploads at the address of a slot: HEAD returns the offset, PATCH continues, DELETE cancels. They follow
/// draft-ietf-httpbis-resumable-upload of the HTTP working group (the text of late 2025, "Upload Resource"). The slot
/// is the upload resource and exists beforehand, so that neither creation nor status 104 is needed.
enum ResumableUpload {
  static let mediaType = "application/partial-upload"

  /// Parses a non-negative integer of at most 15 digits (RFC 9651 3.3.1); otherwise returns nil.
  static func offset(_ field: String?) -> Int64? {
    guard let field, (1...15).contains(field.utf8.count), field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int64(field)
  }

  /// Parses a boolean (RFC 9651 3.3.6); otherwise returns nil.
  static func flag(_ field: String?) -> Bool? {
    switch field {
    case "?1": true
    case "?0": false
    default: nil
    }
  }

  static func flag(_ value: Bool) -> String { value ? "?1" : "?0" }
}

extension FileSite {
  func progress(_ request: Request, _ context: HTTPContext) async throws -> Response {
    let (id, name) = try Self.place(context)
    let progress = try await UserFiles(parley).uploadProgress(id, key: Self.key(request), name: name)
    var headers: HTTPFields = [
      .uploadOffset: "\(progress.offset)", .uploadLength: "\(progress.length)",
      .uploadComplete: ResumableUpload.flag(progress.isComplete), .cacheControl: "no-store",
      .uploadLimit: "max-size=\(progress.length)",
    ]
    if let seconds = progress.seconds { headers[.uploadLimit] = "max-size=\(progress.length), max-age=\(seconds)" }
    return Response(status: .noContent, headers: headers)
  }

  func patch(_ request: Request, _ context: HTTPContext) async throws -> Response {
    let (id, name) = try Self.place(context)
    guard request.headers[.contentType].flatMap({ MediaType.essence($0) }) == ResumableUpload.mediaType else {
      throw HTTPRefusal(
        status: 415, code: "media-type-mismatch", detail: "A part is of type \(ResumableUpload.mediaType).",
        headers: [.acceptPatch: ResumableUpload.mediaType])
    }
    guard let offset = ResumableUpload.offset(request.headers[.uploadOffset]) else {
      throw HTTPRefusal(
        status: 400, code: "upload-offset-malformed", detail: "Say with Upload-Offset which byte comes first.")
    }
    guard let isLast = ResumableUpload.flag(request.headers[.uploadComplete]) else {
      throw HTTPRefusal(
        status: 400, code: "upload-complete-malformed",
        detail: "Say with Upload-Complete whether this is the last part.")
    }
    let upload = try await UserFiles(parley).resumeUpload(id, key: Self.key(request), name: name)
    // A slot is a logged-in user's.
    context.noteLogin(isOnDisk: true)
    do {
      guard upload.offset == offset else {
        throw HTTPRefusal(
          status: 409, code: "upload-offset-mismatch", detail: "The next byte is the one at \(upload.offset).",
          headers: [.uploadOffset: "\(upload.offset)", .uploadComplete: ResumableUpload.flag(false)])
      }
      for try await piece in request.body { try await upload.append(Array(piece.readableBytesView)) }
      guard isLast else {
        let offset = try await upload.suspend()
        return Response(
          status: .noContent,
          headers: [.uploadOffset: "\(offset)", .uploadComplete: ResumableUpload.flag(false)])
      }
      let blob = try await upload.finish()
      return Response(
        status: .created,
        headers: [
          .location: parley.blobs?.policy.links.url(of: blob) ?? "", .uploadOffset: "\(blob.size)",
          .uploadComplete: ResumableUpload.flag(true),
        ])
    } catch {
      // The received bytes are kept, so that an interrupted upload can be continued.
      _ = try? await upload.suspend()
      throw error
    }
  }

  func delete(_ request: Request, _ context: HTTPContext) async throws -> Response {
    let (id, name) = try Self.place(context)
    try await UserFiles(parley).cancelUpload(id, key: Self.key(request), name: name)
    return Response(status: .noContent)
  }
}

extension HTTPField.Name {
  // The names are constants of token characters only.
  static let uploadOffset = HTTPField.Name("Upload-Offset")!
  static let uploadComplete = HTTPField.Name("Upload-Complete")!
  static let uploadLength = HTTPField.Name("Upload-Length")!
  static let uploadLimit = HTTPField.Name("Upload-Limit")!
  static let acceptPatch = HTTPField.Name("Accept-Patch")!
}

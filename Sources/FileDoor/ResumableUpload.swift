import Dialogs
import HTTPPort
import HTTPTypes
import Hummingbird

/// Files that come in parts, at the same address where others come at once: HEAD says how far it is, PATCH goes on, DELETE
/// gives it up. As the HTTP working group's draft-ietf-httpbis-resumable-upload has it (the text of late 2025, "Upload
/// Resource"); the slot is its upload resource, made beforehand, so that none is made here and no 104 is needed.
enum ResumableUpload {
  static let mediaType = "application/partial-upload"

  /// Structured fields (RFC 9651 3.3.1): a whole number from 0, of at most 15 digits; else nil.
  static func offset(_ field: String?) -> Int64? {
    guard let field, (1...15).contains(field.utf8.count), field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int64(field)
  }

  /// RFC 9651 3.3.6; anything else is nil.
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
    let progress = try await parley.uploadProgress(id, key: Self.key(request), name: name)
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
    let upload = try await parley.resumeUpload(id, key: Self.key(request), name: name)
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
      // What has come stays: whoever was cut off goes on from there.
      _ = try? await upload.suspend()
      throw error
    }
  }

  func delete(_ request: Request, _ context: HTTPContext) async throws -> Response {
    let (id, name) = try Self.place(context)
    try await parley.cancelUpload(id, key: Self.key(request), name: name)
    return Response(status: .noContent)
  }
}

extension HTTPField.Name {
  // Constant names, made of token characters only.
  static let uploadOffset = HTTPField.Name("Upload-Offset")!
  static let uploadComplete = HTTPField.Name("Upload-Complete")!
  static let uploadLength = HTTPField.Name("Upload-Length")!
  static let uploadLimit = HTTPField.Name("Upload-Limit")!
  static let acceptPatch = HTTPField.Name("Accept-Patch")!
}

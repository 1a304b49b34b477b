import Accounts
import Basics
import Dialogs
import HTTPPort

/// Returns the data of a file on this server. The id suffices, as it is equivalent to the URL.
enum GetAttachment: ServedOperation {
  typealias Input = AttachmentInput
  typealias Output = AttachmentBody
  static let name = "attachment.get"
  static let method = Method.get
  static let path = "/v1/attachments/{attachmentId}"

  static func perform(_ input: AttachmentInput, _ call: RequestContext) async throws(Problem) -> Outcome<AttachmentBody>
  {
    let caller = try call.user().user
    guard let blobs = call.parley.blobs, let id = BlobID(input.attachmentId),
      let blob = try await UserFiles(call.parley).find(id, for: caller)
    else {
      throw Problem(
        .missing, "attachment-unknown", "There is no such attachment, or its file has not come yet.",
        field: "attachmentId")
    }
    return .ok(call.rendering.attachment(blob, blobs.policy.links))
  }
}

extension Rendering {
  func attachment(_ blob: Blob, _ links: BlobLinks) -> AttachmentBody {
    AttachmentBody(
      id: blob.id.description, name: blob.name, mediaType: blob.mediaType, size: blob.size,
      sha256: blob.sha256.map { Hex.string($0) }, width: blob.shape.width, height: blob.shape.height,
      durationMs: blob.shape.milliseconds, url: links.url(of: blob), purpose: "\(blob.purpose)",
      expiresAt: blob.expiresAt,
      thumbnail: blob.thumbnail.map {
        ThumbnailBody(
          url: links.thumbnailURL(of: blob), mediaType: "image/jpeg", width: $0.width, height: $0.height)
      })
  }

  /// Returns a message's attachment.
  func attachment(_ attachment: Attachment) -> AttachmentBody {
    AttachmentBody(
      id: attachment.blob?.description, name: attachment.name, mediaType: attachment.mediaType, size: attachment.size,
      sha256: attachment.sha256.map { Hex.string($0) }, width: attachment.shape.width, height: attachment.shape.height,
      durationMs: attachment.shape.milliseconds, url: attachment.url,
      thumbnail: attachment.thumbnail.map {
        ThumbnailBody(url: $0.url, mediaType: $0.mediaType, width: $0.width, height: $0.height)
      })
  }
}

import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Creates a slot for one file: its bytes go to `uploadUrl`, once and within minutes; or, if resumable, in parts and
/// within a day.
enum CreateAttachment: ServedOperation {
  typealias Input = CreateAttachmentInput
  typealias Output = AttachmentBody
  static let name = "attachment.create"
  static let method = Method.post
  static let path = "/v1/attachments"
  static let successes = [201]

  static func perform(
    _ input: CreateAttachmentInput, _ call: RequestContext
  ) async throws(Problem) -> Outcome<AttachmentBody> {
    let caller = try call.user().user
    guard let blobs = call.parley.blobs else { throw unsupported }
    guard !input.name.isEmpty else {
      throw Problem(.malformed, "name-missing", "A file has a name.", field: "name")
    }
    guard MediaType.essence(input.mediaType) != nil else {
      throw Problem(.malformed, "media-type-malformed", "mediaType is no media type.", field: "mediaType")
    }
    let purpose: Blob.Purpose
    switch input.purpose ?? "message" {
    case "message": purpose = .message
    case "profile": purpose = .profile
    default:
      throw Problem(.malformed, "purpose-unknown", "purpose is \"message\" or \"profile\".", field: "purpose")
    }
    let draft = BlobDraft(
      name: input.name, mediaType: input.mediaType, size: Int64(input.size), purpose: purpose,
      shape: Blob.Shape(
        width: try measure(input.width, "width"), height: try measure(input.height, "height"),
        milliseconds: try measure(input.durationMs, "durationMs")),
      sha256: try input.sha256.map(hash), isResumable: input.resumable ?? false)
    let receipt = try await call.parley.post(.blob(.request(draft)), by: caller)
    guard let blob = receipt.value as? Blob else {
      throw Problem(.internal, "outcome-missing", "The slot was made, but it cannot be shown.")
    }
    var body = call.rendering.attachment(blob, blobs.policy.links)
    body.uploadUrl = blobs.uploadURL(of: blob)
    body.uploadUntil = blob.slotEnd
    return .created(body)
  }

  static let unsupported = Problem(.unsupported, "attachments-unsupported", "This server takes no files.")

  private static func hash(_ text: String) throws(Problem) -> [UInt8] {
    let digits = Array(text.utf8)
    let values = digits.compactMap { digit -> UInt8? in
      switch digit {
      case 0x30...0x39: digit - 0x30
      case 0x61...0x66: digit - 0x61 + 10
      case 0x41...0x46: digit - 0x41 + 10
      default: nil
      }
    }
    guard digits.count == 64, values.count == 64 else {
      throw Problem(.malformed, "sha256-malformed", "sha256 is 64 hex digits.", field: "sha256")
    }
    return (0..<32).map { values[$0 * 2] << 4 | values[$0 * 2 + 1] }
  }

  private static func measure(_ value: Int?, _ field: String) throws(Problem) -> Int? {
    guard let value else { return nil }
    guard (0...Int(Int32.max)).contains(value) else {
      throw Problem(.malformed, "measure-out-of-range", "\(field) is a number from 0 to \(Int32.max).", field: field)
    }
    return value
  }
}

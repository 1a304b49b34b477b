import Dialogs
import JSON

/// Checks of the members of each content type. Unknown members are kept if the app may need them, and bounded by the
/// message's size.
extension Checks {
  /// Returns a line of a contact: a name, a number, an id.
  private static func line(_ name: String, _ value: JSONValue) throws(Problem) -> String? {
    guard let found = value[name] else { return nil }
    guard case .string(let line) = found, line.utf8.count <= Limits.contentFieldBytesMax else {
      throw Problem(
        .malformed, "content-field-malformed",
        "content.\(name) is a text of at most \(Limits.contentFieldBytesMax) bytes.", field: "content.\(name)")
    }
    try text(line, field: "content.\(name)")
    return line
  }

  private static func lines(_ name: String, _ value: JSONValue) throws(Problem) {
    guard let found = value[name] else { return }
    guard case .array(let all) = found, all.count <= Limits.contactLinesMax else {
      throw Problem(
        .malformed, "content-field-malformed",
        "content.\(name) is a list of at most \(Limits.contactLinesMax) texts.", field: "content.\(name)")
    }
    for each in all { _ = try line(name, .object([JSONValue.Member(name, each)])) }
  }

  static func contact(_ value: JSONValue) throws(Problem) {
    for name in ["name", "organization", "userId"] { _ = try line(name, value) }
    for name in ["phones", "emails"] { try lines(name, value) }
  }

  static func sticker(_ value: JSONValue) throws(Problem) {
    for name in ["pack", "sticker"] { _ = try line(name, value) }
  }

  static func custom(_ value: JSONValue) throws(Problem) {
    guard let name = try line("kind", value), !name.isEmpty else {
      throw Problem(.malformed, "content-kind-missing", "Custom content names its kind.", field: "content.kind")
    }
  }

  static func place(_ value: JSONValue) throws(Problem) {
    _ = try line("name", value)
    guard let accuracy = value["accuracy"] else { return }
    guard case .number(let text) = accuracy, let metres = Double(text), metres >= 0, metres <= 40_000_000 else {
      throw Problem(
        .malformed, "content-field-malformed", "content.accuracy is a number of metres.", field: "content.accuracy")
    }
  }

  /// Returns the files of a message by their ids, without duplicates. The core finds them.
  static func attachments(_ value: JSONValue?) throws(Problem) -> [Attachment] {
    guard case .array(let ids)? = value, !ids.isEmpty else {
      throw Problem(
        .malformed, "attachments-missing", "content.attachments is a list of ids of attachments.",
        field: "content.attachments")
    }
    guard ids.count <= Limits.attachmentsMax else {
      throw Problem(
        .tooLarge, "too-many-attachments", "A message brings at most \(Limits.attachmentsMax) files.",
        field: "content.attachments")
    }
    var seen: Set<BlobID> = []
    var attachments: [Attachment] = []
    for each in ids {
      guard case .string(let text) = each else {
        throw Problem(
          .malformed, "attachments-missing", "content.attachments is a list of ids of attachments.",
          field: "content.attachments")
      }
      guard let id = BlobID(text) else {
        throw Problem(
          .missing, "attachment-unknown", "There is no such attachment, or its file has not come yet.",
          field: "content.attachments")
      }
      guard seen.insert(id).inserted else {
        throw Problem(
          .malformed, "attachment-repeated", "content.attachments names a file twice.", field: "content.attachments")
      }
      attachments.append(Attachment(blob: id, url: ""))
    }
    return attachments
  }

  /// Returns the waveform of a recording; `.empty` if it is absent.
  static func waveform(_ value: JSONValue?) throws(Problem) -> RawObject {
    guard let value else { return .empty }
    let malformed = Problem(
      .malformed, "waveform-malformed",
      "content.waveform is a list of integers from 0 to \(Limits.waveformValueMax).", field: "content.waveform")
    guard case .array(let numbers) = value else { throw malformed }
    guard numbers.count <= Limits.waveformMax else {
      throw Problem(
        .tooLarge, "waveform-too-long", "content.waveform has at most \(Limits.waveformMax) numbers.",
        field: "content.waveform")
    }
    for number in numbers {
      guard case .number(let text) = number, let loudness = Int(text), (0...Limits.waveformValueMax).contains(loudness)
      else { throw malformed }
    }
    return RawObject(.object([JSONValue.Member("waveform", value)])) ?? .empty
  }
}

import Basics
package import Dialogs
package import ImportSources

/// Takes a piece of an uploaded file that another server kept, for which `ImportRecords` has made a slot; the pieces of a
/// file come in their order.
package enum ImportFile: AdminOperation {
  package static let name = "records.import.file"

  package struct Input: Codable, Sendable {
    let file: FileRecord
    /// The place of the bytes in the file; 0 begins anew.
    let offset: Int64
    /// At most `AdminLimits.importPieceBytes`, in base 64.
    let bytes: String
    /// That of the import.
    let source: String
    package init(file: FileRecord, offset: Int64, bytes: [UInt8], source: String) {
      self.source = source
      self.file = file
      self.offset = offset
      self.bytes = Base64.string(bytes)
    }
  }

  /// `failed` for a file that is refused: with its last byte it is inspected as any other.
  package typealias Output = RowOutcome

  /// Pieces are not acts, as batches of records are none.
  package static let isReading = true

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> RowOutcome {
    guard let bytes = Base64.decode(input.bytes.utf8, canonical: false) else {
      throw Problem(.malformed, "bytes-malformed", "The bytes are not valid base64.", field: "bytes")
    }
    try await context.begin(input.source)
    do throws(Problem) {
      let slot = input.file.slot
      try await UserFiles(context.parley).takeImported(slot.id, at: input.offset, bytes, from: slot.time)
      // Before its last byte the file can still come; from then on it is here, or was deleted here.
      if input.offset + Int64(bytes.count) == slot.size { try await note(slot.id, context) }
      return RowOutcome(.done)
    } catch {
      return RowOutcome(error)
    }
  }

  private static func note(_ id: BlobID, _ context: AdminContext) async throws(Problem) {
    try await context.parley.work(keepingCaches: true) { writer in
      guard let owner = try writer.blob(id, .server(.administration))?.owner else { return }
      try ImportNotes.add([(owner: .user(owner), thing: .file(id))], writer)
    }
  }
}

extension FileRecord {
  var id: BlobID { BlobID(former: secret, name: name) }

  var slot: ImportedFile {
    ImportedFile(
      id: id, name: name, mediaType: mediaType, size: size,
      time: Timestamp(milliseconds: time))
  }
}

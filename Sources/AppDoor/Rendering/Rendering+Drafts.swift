import Dialogs

/// Renders drafts.
extension Rendering {
  func draft(_ draft: DialogDraft, in dialog: DialogID) -> DraftBody {
    DraftBody(
      dialogId: id(dialog), text: draft.text, replyTo: draft.replyTo.flatMap { id($0) },
      updatedAt: draft.updatedAt)
  }

  /// Returns a user's draft. Blocks: for `Parley.read`.
  func draft(of user: UserID, in dialog: DialogID, _ reader: any StoreReader) throws -> DraftBody? {
    try reader.draft(of: user, in: dialog).map { draft($0, in: dialog) }
  }
}

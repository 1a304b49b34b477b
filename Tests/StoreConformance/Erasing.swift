public import Dialogs

extension StoreWriter {
  /// Removes everything of a deleted user in one transaction, in pieces that are smaller than those of a server.
  public func erasePersonalData(_ user: UserID, endingFiles: Bool = false) throws {
    try eraseRecords(of: user)
    var place: ErasurePlace? = ErasurePlace()
    while let next = place { place = try eraseData(of: user, endingFiles: endingFiles, at: next, limit: 7).next }
  }
}

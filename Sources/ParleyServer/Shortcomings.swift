import Dialogs
import FileStorage
public import ServerConfiguration

extension Settings {
  /// Missing features that are no errors, for `parley check` and the start.
  public var shortcomings: [String] {
    guard let uploads, uploads.thumbnails, let missing = BlobTools.missingProgram else { return [] }
    return ["There are no thumbnails, and avatars are not made smaller: \(missing)."]
  }
}

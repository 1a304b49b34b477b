import Dialogs
import FileStorage
public import ServerConfiguration

extension Settings {
  /// What is not wrong and will be missed nonetheless, for `parley check` and the start.
  public var shortcomings: [String] {
    guard let uploads, uploads.thumbnails, let missing = BlobTools.missingProgram else { return [] }
    return ["There are no thumbnails, and avatars are not made smaller: \(missing)."]
  }
}

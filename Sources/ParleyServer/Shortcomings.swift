import Dialogs
import FileStorage
public import ServerConfiguration

extension Settings {
  /// Missing features and risks that are no errors, for `parley check` and the start.
  public var shortcomings: [String] {
    var texts: [String] = []
    if let uploads, uploads.thumbnails, let missing = BlobTools.missingProgram {
      texts.append("There are no thumbnails, and avatars are not made smaller: \(missing).")
    }
    if let openDoor { texts.append("\(openDoor.prefix(1).uppercased())\(openDoor.dropFirst()).") }
    return texts
  }
}

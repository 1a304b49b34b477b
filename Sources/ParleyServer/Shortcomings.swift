import Basics
import Dialogs
import FileStorage
import ServerCertificates
public import ServerConfiguration

extension Settings {
  /// The file of the certificate that the ACME authority has issued; nil if there is none.
  var issuedCertificate: CertificateFiles? { acme?.certificate(in: DataFolder.certificates(of: data)) }

  /// Missing features and risks that are no errors, for `parley check` and the start.
  public var shortcomings: [String] {
    var texts: [String] = []
    if let uploads, uploads.thumbnails, let missing = BlobTools.missingProgram {
      texts.append("There are no thumbnails, and avatars are not made smaller: \(missing).")
    }
    if let text = acme?.shortcoming(in: DataFolder.certificates(of: data)) { texts.append(text) }
    if backups.isReplicated, !Files.exists(data + "/.parley.db-litestream") {
      texts.append("backup.replicated is true, and Litestream has not followed the database in \(data) yet.")
    }
    if backups.isReplicated, let uploads, uploads.bucket == nil {
      texts.append(
        "backup.replicated is true, and users' files are in \(data), where Litestream copies the database alone: with "
          + "uploads.store: s3 they are not lost with the machine.")
    }
    if let openDoor { texts.append("\(openDoor.prefix(1).uppercased())\(openDoor.dropFirst()).") }
    return texts
  }
}

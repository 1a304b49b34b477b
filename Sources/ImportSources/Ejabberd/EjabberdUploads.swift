import Basics
import Crypto

/// The data of ejabberd with the folder of `mod_http_upload` (its option `docroot`): `USER/SECRET/NAME`, where `USER` is the
/// hash of an address, or its local part (`jid_in_url`). Nothing else tells whose a file is.
struct EjabberdUploads: ImportSource {
  private let data: any ImportSource
  private let folder: String
  let hasFiles = true

  init(_ data: any ImportSource, folder: String) {
    self.data = data
    self.folder = folder
  }

  func check() throws(SourceFailure) {
    try data.check()
    try SourcePath.check(folder, isFolder: true, "the folder of uploaded files (docroot of mod_http_upload)")
  }

  var places: String { "\(data.places), and in \(folder)" }

  func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    guard kinds.contains(.files) else { return try data.reader(of: kinds) }
    return try EjabberdFiles(folder, of: data.reader(of: .accounts))
  }
}

/// One pass over the folder.
final class EjabberdFiles: RecordReader {
  private let folder: String
  /// The users by the names of their folders; `nil` for a name that two domains have.
  private var owners: [String: String?] = [:]
  private var users: [String]
  private let userCount: Int
  /// The folders of the user, and the files in one of them, the next ones last.
  private var user = ""
  private var secrets: [String] = []
  private var secret = ""
  private var names: [String] = []

  init(_ folder: String, of accounts: any RecordReader) throws(SourceFailure) {
    self.folder = folder
    users = try SourceFolder.names(in: folder).reversed()
    userCount = users.count
    while let reading = try accounts.next() {
      guard case .record(.account(let account), _) = reading else { continue }
      owners[Hex.string(Insecure.SHA1.hash(data: Array(account.jid.utf8)))] = .some(account.jid)
      let name = Self.folderName(String(account.jid.prefix { $0 != "@" }))
      owners[name] = owners[name] == nil ? .some(account.jid) : .some(nil)
    }
  }

  var fraction: Double { userCount == 0 ? 1 : Double(userCount - users.count) / Double(userCount) }

  func next() throws(SourceFailure) -> Reading? {
    while true {
      if let name = names.popLast() {
        let path = "\(folder)/\(user)/\(secret)/\(name)"
        guard let found = SourceFolder.file(path) else { continue }
        guard let owner = owners[user] ?? nil else {
          return .flaw(Place(file: path), "it is of none of the accounts, or of several")
        }
        return .record(
          .file(
            FileRecord(
              owner: owner, secret: secret, name: name, mediaType: nil, size: found.size, time: found.time)),
          Place(file: path))
      }
      do throws(SourceFailure) {
        if let next = secrets.popLast() {
          secret = next
          names = try SourceFolder.names(in: "\(folder)/\(user)/\(next)").reversed()
        } else {
          guard let next = users.popLast() else { return nil }
          user = next
          secrets = try SourceFolder.names(in: "\(folder)/\(next)").reversed()
        }
      } catch {
        return .flaw(error.place, error.text)
      }
    }
  }

  /// Returns the name of a user's folder with `jid_in_url: node` (`mod_http_upload`).
  private static func folderName(_ local: String) -> String {
    String(
      String.UnicodeScalarView(
        local.unicodeScalars.map { scalar in
          let isKept = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
          return isKept || "_.-".unicodeScalars.contains(scalar) ? scalar : "_"
        }))
  }
}

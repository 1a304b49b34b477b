import Accounts
import Basics
import Dialogs

/// The key files of a data folder whose loss an operator can mend by a copy. `tokens.key` is none of them: no backup has it, and
/// clients whose tokens it does not fit log in by their passwords.
enum KeyFiles {
  static let accounts = "accounts.key"
  static let webPush = "webpush.key"

  /// Returns the names of those that a folder does not have.
  static func missing(in folder: String) -> Set<String> {
    Set([accounts, webPush].filter { (try? Files.isMissing("\(folder)/\($0)")) == true })
  }

  /// Returns a sentence for each key in the folder of a server that is stopped which is missing, or does not fit what is
  /// stored. A file that this user may not read is not judged.
  static func doubts(in folder: String, _ reader: any StoreReader) throws -> [String] {
    let absent = missing(in: folder)
    var texts: [String?] = []
    if absent.contains(accounts) {
      let cause = "\(accounts) is missing in the data folder"
      texts.append(try Accounts.lostSecondFactors(nil, because: cause, reader))
    } else if let bytes = try? Files.read("\(folder)/\(accounts)", bytesMax: ServerLimits.keyBytesMax),
      bytes.count >= TokenSecret.byteCount
    {
      texts.append(try Accounts.lostSecondFactors(TokenSecret(bytes), because: nil, reader))
    }
    if absent.contains(webPush) {
      texts.append(try lostSubscriptions(because: "\(webPush) is missing in the data folder", reader))
    }
    return texts.compactMap { $0 }
  }

  /// Returns a sentence for each file that is missing in the folder of a running server, which read or created it at its start.
  static func removed(from folder: String) -> [String] {
    // The server may see the folder under another name, as in a container.
    guard Files.exists("\(folder)/lock") else { return [] }
    return missing(in: folder).sorted().map {
      "\($0) is missing in the data folder \(folder), and the running server has the key only in its memory: put the copy of "
        + "the file there, else the next start creates another key."
    }
  }

  /// Returns a sentence about devices that get no pushes for lack of the key that they have subscribed with (RFC 8292); nil if
  /// there are none.
  ///
  /// - Parameter cause: A clause that says why the key is another one.
  static func lostSubscriptions(because cause: String, _ reader: any StoreReader) throws -> String? {
    let count = try reader.pushRegistrations().count { registration in
      guard case .device(let device) = registration.target else { return false }
      return device.provider.isWebPush
    }
    guard count > 0 else { return nil }
    return
      "\(count == 1 ? "1 device gets" : "\(count) devices get") no Web Push before subscribing again: \(cause). Put the "
      + "copy of \(webPush) there and start the server again, if there is one."
  }
}

extension Core {
  /// Returns a sentence for each key that the opening has created in place of one that what is stored needs, and for one that
  /// does not fit it.
  func keyDoubts() async throws(Problem) -> [String] {
    func cause(_ file: String) -> String? {
      missingKeys.contains(file) ? "\(file) was missing in the data folder, and this start has created another" : nil
    }
    var texts = [try await accounts.lostSecondFactors(because: cause(KeyFiles.accounts))]
    if let reason = cause(KeyFiles.webPush) {
      texts.append(try await parley.read { try KeyFiles.lostSubscriptions(because: reason, $0) })
    }
    return texts.compactMap { $0 }
  }
}

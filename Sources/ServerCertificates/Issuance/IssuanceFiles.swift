import ACME
import Basics
import Crypto
import JSON
import ServerConfiguration

/// The files that a server keeps for its authority in the folder of certificates: the account's key, and the record of
/// attempts.
struct IssuanceFiles: Sendable {
  let key: AccountKey
  private let record: String

  /// Reads the files. Where they are missing, damaged or of another authority, they are made anew: with another key the
  /// authority makes another account.
  init(_ folder: String, directory: String) throws(StartupError) {
    let folder = folder + "/acme"
    let keyPath = folder + "/account.key"
    record = folder + "/record.json"
    do {
      try Files.makeFolder(folder, mode: 0o700)
      if let read = Self.read(record), read.directory == directory, let known = Self.key(keyPath) {
        key = known
        return
      }
      key = AccountKey()
      // A crash between the two leaves the record of another authority, or none, and so another key.
      try Files.write(Array(key.key.pemRepresentation.utf8), to: keyPath, mode: 0o600)
      try write(RenewalRecord(directory: directory))
    } catch {
      throw StartupError("\(error.path) cannot be used: \(error.reason)")
    }
  }

  /// Reads the key of an account with the authority's operator.
  ///
  /// - Throws: In words that name the key of the configuration, and never the secret.
  func external(_ external: Settings.ACME.External) throws(StartupError) -> ExternalAccount {
    try Self.external(external, key)
  }

  /// Returns what is wrong with the file of such a key; nil if nothing is.
  static func flaw(in external: Settings.ACME.External) -> String? {
    do throws(StartupError) { _ = try Self.external(external, AccountKey()) } catch {
      return error.lines.joined(separator: "; ")
    }
    return nil
  }

  private static func external(
    _ external: Settings.ACME.External, _ key: AccountKey
  ) throws(StartupError) -> ExternalAccount {
    let name = Keys.shared.acmeEABKey.name
    let bytes: [UInt8]
    do { bytes = try Files.read(external.keyFile, bytesMax: CertificateLimits.fileBytesMax) } catch {
      throw StartupError("\(name): \(error.path) cannot be read: \(error.reasonWithRemedy)")
    }
    let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
    guard let account = ExternalAccount(keyID: external.keyID, key: text, binding: key) else {
      throw StartupError("\(name): \(external.keyFile) has no key in base64url")
    }
    return account
  }

  func read(directory: String) -> RenewalRecord { Self.read(record) ?? RenewalRecord(directory: directory) }

  func write(_ record: RenewalRecord) throws(Files.Failure) {
    guard let json = try? JSONValue(encoding: record) else { return }
    try Files.write(Array(json.text.utf8), to: self.record, mode: 0o600)
  }

  private static func read(_ path: String) -> RenewalRecord? {
    guard let bytes = try? Files.read(path, bytesMax: CertificateLimits.fileBytesMax),
      let json = try? JSONValue(parsing: bytes)
    else { return nil }
    return try? InputDecoder.decode(RenewalRecord.self, from: json)
  }

  private static func key(_ path: String) -> AccountKey? {
    guard let bytes = try? Files.read(path, bytesMax: CertificateLimits.fileBytesMax) else { return nil }
    let key = try? P256.Signing.PrivateKey(pemRepresentation: String(decoding: bytes, as: UTF8.self))
    return key.map(AccountKey.init)
  }
}

import Accounts
import Basics
import Dialogs
import HTTPPort
import JSON
package import Logging
package import ServerConfiguration
import WebClient

/// A client of the operations of a server elsewhere, with an app key (docs/decisions/0041).
package final class RemoteClient: Sendable {
  /// The server's URL, without a trailing slash.
  package let url: String
  private let key: String
  /// The file or the variable that has the key.
  private let keySource: String
  private let web: WebClient

  /// Creates a client, which connects when it is used.
  ///
  /// - Parameters:
  ///   - url: `https://`, host and port, perhaps with the path at which a proxy serves it.
  ///   - keySource: The file or the variable that has the key, for errors.
  ///   - authorities: A PEM file of authorities that are trusted besides the system's.
  package init(
    url: String, key: String, keySource: String, authorities: String?, logger: Logger
  ) throws(StartupError) {
    guard Self.isSafe(url) else {
      throw StartupError(
        "--server \(url): https:// and a host are expected, such as https://chat.example.org:8443", .usage)
    }
    guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw StartupError("the app key is one line of letters and digits, as parley key add prints it", .usage)
    }
    if let authorities {
      do throws(Files.Failure) {
        _ = try Files.read(authorities, bytesMax: AdminLimits.authoritiesBytesMax)
      } catch { throw StartupError("--ca \(authorities) cannot be read: \(error.reason)", .usage) }
    }
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.key = key
    self.keySource = keySource
    web = WebClient(.anywhere, authorities: authorities, logger: logger)
  }

  /// Whether a URL has nothing but scheme, host, port and path, and the key does not go in the clear, not even to a proxy of
  /// this machine.
  private static func isSafe(_ url: String) -> Bool {
    url.hasPrefix("https://") && url.utf8.count > 8 && !url.hasPrefix("https:///")
      && url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"@?#\\".utf8.contains($0) }
  }

  /// Reads a key from the first line of a file, which others must not be able to read.
  package static func key(in file: String) throws(StartupError) -> String {
    guard !file.hasPrefix(Accounts.appKeyPrefix) else {
      // Not told again: it would be in the terminal's history a second time.
      throw StartupError(
        "--key-file requires the name of a file, not a key: every user of this machine can see a command's arguments. "
          + "Revoke this key", .usage)
    }
    let bytes: [UInt8]
    let isPublic: Bool
    do throws(Files.Failure) {
      isPublic = try Files.isReadableForOthers(file)
      bytes = try Files.read(file, bytesMax: AdminLimits.keyFileBytesMax)
    } catch { throw StartupError("--key-file \(file) cannot be read: \(error.reason)", .usage) }
    if isPublic {
      throw StartupError("\(file) has a key, and every user of this machine may read it: chmod 600 \(file)", .usage)
    }
    let line = String(decoding: bytes.prefix { $0 != 0x0a && $0 != 0x0d }, as: UTF8.self)
    // RFC 6750 2.1; the access token of an administrator, which has no prefix, is taken as well. JSON is neither.
    let isToken = line.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-._~+/=".utf8.contains(byte)
      }
    }
    guard isToken, !line.isEmpty else {
      throw StartupError(
        "--key-file \(file): the first line is not an app key, which begins with \(Accounts.appKeyPrefix). parley key "
          + "add prints it in the first line, with --json as value of secret: put the key alone into the file", .usage
      )
    }
    return line
  }

  /// Calls an operation.
  ///
  /// - Throws: A `Problem` if the server refused it, a `StartupError` if it could not be called.
  package func call<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: Operation.Input
  ) async throws -> Operation.Output {
    let request = WebRequest(
      .post, "\(url)/v1/admin/operations/\(Operation.name)",
      headers: [("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")],
      body: .bytes(try AdminJSON.encode(input)), timeout: Operation.answerWait,
      answerBytesMax: AdminLimits.answerBytesMax)
    var answer = try await send(request)
    var waits = 0
    while answer.status == 429, let seconds = answer.retryAfter, waits < AdminLimits.waitsMax {
      waits += 1
      try await Task.sleep(for: .seconds(seconds))
      answer = try await send(request)
    }
    let json = answer.status == 204 ? .object([]) : try? JSONValue(parsing: answer.body)
    guard answer.isSuccess else { throw refusal(Operation.name, answer.status, json) }
    guard let output = try? json.map({ try InputDecoder.decode(Operation.Output.self, from: $0) }) else {
      throw StartupError(
        "\(url) is not of this command's version, \(Version.number): its answer to \(Operation.name) is unreadable")
    }
    return output
  }

  private func send(_ request: WebRequest) async throws(StartupError) -> WebAnswer {
    do throws(WebFailure) {
      return try await web.send(request)
    } catch {
      switch error.kind {
      case .untrusted:
        throw StartupError(
          "the certificate of \(url) is not trusted: its authority is unknown (--ca FILE adds one), it has expired, "
            + "or it is for another name")
      case .tooLarge:
        throw StartupError("\(url) answers with more than \(AdminLimits.answerBytesMax) bytes")
      case .unreachable:
        throw StartupError(
          "\(url) cannot be reached: \(error.description); does the server run there, is this its HTTPS port "
            + "(https.port, 8443 by default) or that of its proxy, and does a firewall let it through?")
      case .malformed, .forbidden, .refused, .overloaded, .cancelled:
        throw StartupError("\(url) cannot be reached: \(error.description)")
      }
    }
  }

  /// The members of an answer's problem that are printed.
  private struct Refusal: Codable {
    let code: String
    let detail: String
    let field: String?
  }

  private func refusal(_ operation: String, _ status: Int, _ json: JSONValue?) -> any Error {
    guard let refusal = json.flatMap({ try? InputDecoder.decode(Refusal.self, from: $0) }) else {
      return StartupError(
        "\(url) is not a Parley server, or its proxy refuses: the answer to \(operation) has the status \(status)")
    }
    switch refusal.code {
    // What has no prefix of keys is looked up as an access token.
    case "key-invalid", "key-missing", "token-invalid":
      return StartupError(
        "\(url) does not know the key of \(keySource): it was revoked, or belongs to another server. On that server's "
          + "machine: parley key list, parley key add")
    case "operation-unknown", "path-unknown":
      return StartupError("\(url) has no operation \(operation): it is older than this command, \(Version.number)")
    default:
      // Commands tell code and text; no protocol has use for the kind.
      return Problem(.forbidden, refusal.code, refusal.detail, field: refusal.field)
    }
  }

  deinit { web.stop() }
}

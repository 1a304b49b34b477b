import Accounts
import Administration
import Basics
import Dialogs
import IdentityTokens
import Logging
import ServerCertificates
import ServerConfiguration
import WebClient

/// Creates the sign-in policy from the configured identity backends and providers.
enum IdentityVerifiers {
  /// Returns the policy.
  ///
  /// - Throws: A `StartupError` if a key cannot be read.
  static func policy(
    _ settings: Settings.Identity, _ outgoing: Outgoing, logger: Logger
  ) throws(StartupError) -> SignInPolicy {
    let pictures = WebPictures(client: outgoing.given)
    if settings.backends.isEmpty, settings.providers.isEmpty, settings.codes.isEmpty {
      return SignInPolicy(pictures: pictures)
    }
    var backends: [Backend] = []
    for backend in settings.backends {
      var tokens = backend.tokens
      for file in backend.keyFiles {
        do {
          let bytes = try Files.read(file, bytesMax: CertificateLimits.fileBytesMax)
          tokens.publicKeys.append(String(decoding: bytes, as: UTF8.self))
        } catch { throw StartupError("identity.backends.keys: \(file) cannot be read: \(error.reasonWithRemedy)") }
      }
      backends.append(tokens)
    }
    do {
      let verifier = try TokenVerifier(
        backends: backends, providers: settings.providers,
        documents: WebDocuments(client: outgoing.named, logger: logger), codes: settings.codes,
        exchange: WebExchange(client: outgoing.named, logger: logger), clock: SystemClock())
      return SignInPolicy(verifier: verifier, pictures: pictures)
    } catch { throw StartupError("identity.backends: \(error)") }
  }
}

/// Fetches key sets from configured URLs.
private struct WebDocuments: DocumentSource {
  let client: WebClient
  let logger: Logger

  func document(at url: String, bytesMax: Int) async -> Document? {
    let reason: String
    do throws(WebFailure) {
      let answer = try await client.send(
        WebRequest(.get, url, headers: [("accept", "application/json")], answerBytesMax: bytesMax))
      if answer.status == 200 {
        return Document(answer.body, cacheControl: answer.header("cache-control"), age: answer.header("age"))
      }
      reason = "status \(answer.status)"
    } catch { reason = error.description }
    logger.warning(
      "keys could not be fetched", metadata: ["url": "\(Line.safe(url))", "reason": "\(Line.safe(reason))"])
    return nil
  }
}

/// Exchanges codes at configured URLs.
private struct WebExchange: CodeExchange {
  let client: WebClient
  let logger: Logger

  func answer(
    from url: String, authorization: String, form: [UInt8]?, bytesMax: Int
  ) async -> (status: Int, body: [UInt8])? {
    var headers = [("accept", "application/json"), ("authorization", authorization)]
    if form != nil { headers.append(("content-type", "application/x-www-form-urlencoded")) }
    let request = WebRequest(
      form == nil ? .get : .post, url, headers: headers, body: form.map { .bytes($0) } ?? .none,
      answerBytesMax: bytesMax)
    var reason: String?
    defer {
      if let reason {
        logger.warning(
          "a provider did not answer as it should",
          metadata: ["url": "\(Line.safe(url))", "reason": "\(Line.safe(reason))"])
      }
    }
    do throws(WebFailure) {
      let answer = try await client.send(request)
      // 400 means an invalid code; any other failure is logged for the operator.
      if answer.status != 200, answer.status != 400 { reason = "status \(answer.status)" }
      return (answer.status, answer.body)
    } catch {
      reason = error.description
      return nil
    }
  }
}

/// Fetches pictures whose URLs are in tokens and come from users.
private struct WebPictures: PictureFinder {
  let client: WebClient

  func picture(at url: String) async -> [UInt8]? {
    let request = WebRequest(.get, url, answerBytesMax: Limits.avatarBytesMax)
    guard let answer = try? await client.send(request), answer.status == 200 else { return nil }
    return answer.body
  }
}

import ACME
import Crypto
import Logging
import ServerConfiguration
import WebClient

/// Carries out one attempt to get a certificate: sends what `Issuance` says, shows what proves the names, waits.
struct AuthorityClient: Sendable {
  let client: WebClient
  let key: AccountKey
  let responses: ValidationResponses
  let logger: Logger
  /// Called before each order.
  let noteOrder: @Sendable () throws(ACMEFailure) -> Void

  enum Result {
    case issued(chain: String, key: P256.Signing.PrivateKey, names: [String], missing: [NameFailure])
    case failed(ACMEFailure)
  }

  func run(_ plan: IssuancePlan) async -> Result {
    defer { responses.hide() }
    let certificateKey = P256.Signing.PrivateKey()
    var issuance = Issuance(plan)
    var command = issuance.begin()
    while true {
      do {
        switch command {
        case .get(let url): command = issuance.received(try await send(WebRequest(.get, url)))
        case .head(let url): command = issuance.received(try await send(WebRequest(.head, url)))
        case .post(let request):
          if request.isOrder { try noteOrder() }
          let body = try key.sign(request) { try CertificateRequest.make($0, key: certificateKey) }
          command = issuance.received(try await send(WebRequest(.post, request.url, body: .bytes(body))))
        case .publish(let shown):
          try responses.show(shown)
          logger.info("names are being verified", metadata: ["names": "\(shown.map(\.name).joined(separator: ","))"])
          command = issuance.proceed()
        case .wait(let seconds):
          try await Task.sleep(for: .seconds(seconds))
          command = issuance.proceed()
        case .finish(.failed(let failure)): return .failed(failure)
        case .finish(.issued(let chain, let names, let missing)):
          return .issued(chain: chain, key: certificateKey, names: names, missing: missing)
        }
      } catch let failure as ACMEFailure {
        command = issuance.failed(failure)
      } catch {
        command = issuance.failed(ACMEFailure("what the authority needs cannot be made: \(error)"))
      }
    }
  }

  /// Asks when a certificate should be renewed (RFC 9773); nil if the authority tells nothing of that.
  func renewalInfo(of certificate: String, directory: String) async throws(ACMEFailure) -> RenewalInfo? {
    let answer = try await send(WebRequest(.get, directory))
    guard let url = try RenewalInfo.url(of: certificate, in: answer) else { return nil }
    return try RenewalInfo(try await send(WebRequest(.get, url)))
  }

  private func send(_ request: WebRequest) async throws(ACMEFailure) -> Answer {
    var request = request
    request.timeout = CertificateLimits.authorityTimeout
    // RFC 8555 6.1, 6.2.
    request.headers = [("User-Agent", "Parley/\(Version.number)"), ("Accept-Language", "en")]
    if request.method == .post { request.headers.append(("Content-Type", "application/jose+json")) }
    let answer: WebAnswer
    do { answer = try await client.send(request) } catch {
      throw ACMEFailure("the authority does not answer: \(error.description)", isUnreachable: true)
    }
    return Answer(
      status: answer.status, nonce: answer.header("replay-nonce"), location: answer.header("location"),
      retryAfter: answer.retryAfter, body: answer.body)
  }
}

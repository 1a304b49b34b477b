import Accounts
import Dialogs
import Foundation
import Synchronization
import Testing

@testable import IdentityTokens

/// Authorization codes, and the requests that redeem them.
@Suite struct ProviderCodeTests {
  private final class Exchange: CodeExchange {
    struct Asked: Equatable {
      let url: String
      let authorization: String
      let form: String?
    }
    private let state = Mutex<(answers: [String: (status: Int, body: String)?], asked: [Asked])>(([:], []))
    var asked: [Asked] { state.withLock(\.asked) }

    init(_ answers: [String: (status: Int, body: String)?]) { state.withLock { $0.answers = answers } }

    func answer(
      from url: String, authorization: String, form: [UInt8]?, bytesMax: Int
    ) async -> (status: Int, body: [UInt8])? {
      state.withLock { state in
        state.asked.append(
          Asked(url: url, authorization: authorization, form: form.map { String(decoding: $0, as: UTF8.self) }))
        guard let found = state.answers[url] ?? nil else { return nil }
        return (found.status, Array(found.body.utf8))
      }
    }
  }

  private let verifier = String(repeating: "v", count: 43)
  private static let token = (200, #"{"access_token":"t-1","token_type":"Bearer"}"#)

  private func proof(
    token: (Int, String)? = Self.token, user: (Int, String)? = (200, #"{"data":{"id":"17","name":"Juliet"}}"#),
    code: String = "c d&e", redirect: String = "app://a", verifier: String? = nil
  ) async -> (result: Result<IdentityProof, Problem>, asked: [Exchange.Asked]) {
    let exchange = Exchange(["https://t.example": token, "https://u.example": user])
    let provider = CodeProvider(
      name: "twitter", domain: "a.example", clientID: "a b", clientSecret: "s:+", tokenURL: "https://t.example",
      userURL: "https://u.example", subject: ["data", "id"], displayName: ["data", "name"], redirectURIs: ["app://a"])
    let grant = CodeGrant(code: code, verifier: verifier ?? self.verifier, redirectURI: redirect)
    do throws(Problem) {
      return (.success(try await ProviderCodes(provider, exchange).proof(grant)), exchange.asked)
    } catch { return (.failure(error), exchange.asked) }
  }

  /// RFC 6749 2.3.1, 4.1.3 and appendix B; RFC 7636 4.5.
  @Test func aCodeIsRedeemedByWhoWeAre() async throws {
    let (result, asked) = await proof()
    let proof = try result.get()
    #expect(proof.identity == Identity(.provider("twitter"), "17") && proof.displayName == "Juliet")
    #expect(proof.nonce == nil && !proof.needsNonce && proof.contacts.isEmpty && proof.admitsNewcomers)
    let basic = Data("a%20b:s%3A%2B".utf8).base64EncodedString()
    #expect(
      asked == [
        Exchange.Asked(
          url: "https://t.example", authorization: "Basic \(basic)",
          form: "grant_type=authorization_code&code=c%20d%26e&redirect_uri=app%3A%2F%2Fa&code_verifier=\(verifier)"),
        Exchange.Asked(url: "https://u.example", authorization: "Bearer t-1", form: nil),
      ])
  }

  @Test(arguments: [
    ((200, #"{"data":{"id":17}}"#), "17" as String?), ((200, #"{"data":{"id":-17}}"#), nil),
    ((200, #"{"data":{"id":""}}"#), nil), ((200, #"{"data":{"id":null}}"#), nil), ((200, #"{"id":"17"}"#), nil),
    ((200, #"{"data":{"id":"\u00e9"}}"#), nil), ((200, "[]"), nil),
  ])
  func theAnswerMustNameTheUser(user: (Int, String), subject: String?) async {
    let (result, _) = await proof(user: user)
    #expect((try? result.get().identity.subject) == subject)
    if case .failure(let problem) = result { #expect(problem.code == "identity-token-invalid") }
  }

  /// 5.2: an error of the code is distinguished from an error of the server, and from an unavailable provider.
  @Test(arguments: [
    ((400, #"{"error":"invalid_grant"}"#) as (Int, String)?, "identity-token-invalid"),
    ((401, #"{"error":"invalid_client"}"#), "issuer-unreachable"), ((503, ""), "issuer-unreachable"),
    ((500, #"{"error":"invalid_grant"}"#), "issuer-unreachable"), (nil, "issuer-unreachable"),
    ((200, #"{"access_token":"t","token_type":"mac"}"#), "issuer-unreachable"),
    ((200, #"{"access_token":"a b","token_type":"bearer"}"#), "issuer-unreachable"),
    ((200, #"{"token_type":"bearer"}"#), "issuer-unreachable"),
  ])
  func theAnswersOfTheProvider(token: (Int, String)?, code: String) async {
    let (result, asked) = await proof(token: token)
    guard case .failure(let problem) = result else {
      Issue.record("it is taken")
      return
    }
    #expect(problem.code == code && asked.count == 1)
  }

  /// A text that cannot be a code of the app is not sent to any provider.
  @Test func nobodyIsAskedOfWhatIsNone() async {
    for (code, redirect, verifier) in [
      ("", "app://a", nil), ("a\n", "app://a", nil), (String(repeating: "x", count: 2_049), "app://a", nil),
      ("c", "app://b", nil), ("c", "app://a/", nil), ("c", "app://a", String(repeating: "v", count: 42)),
      ("c", "app://a", String(repeating: "v", count: 129)), ("c", "app://a", String(repeating: "=", count: 43)),
    ] as [(String, String, String?)] {
      let (result, asked) = await proof(code: code, redirect: redirect, verifier: verifier)
      guard case .failure(let problem) = result else {
        Issue.record("\(code) \(redirect) \(verifier ?? "") is taken")
        continue
      }
      #expect(problem.kind == .malformed && asked.isEmpty)
    }
  }
}

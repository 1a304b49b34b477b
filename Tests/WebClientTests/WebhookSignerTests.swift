import Basics
import Crypto
import Foundation
import Testing
import WebClient

@Suite struct WebhookSignerTests {
  /// The signature of an example that the libraries of Standard Webhooks are tested with.
  @Test func webhooksAreSignedAsTheSpecificationHasIt() throws {
    let signer = try #require(WebhookSigner(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    let headers = signer.headers(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", now: Timestamp(milliseconds: 1_614_265_330_000),
      body: Array(#"{"test": 2432232314}"#.utf8))
    #expect(headers.map(\.name) == ["content-type", "webhook-id", "webhook-timestamp", "webhook-signature"])
    #expect(headers[3].value == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    for bad in [
      "", "whsec_", "whsec_c2hvcnQ=", "whsec_AAAA", "whsec_!!!!", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_\u{e9}",
    ] {
      #expect(WebhookSigner(secret: bad) == nil, "\(bad)")
    }
  }

  /// The example of Standard Webhooks 1.0.0 has no secret; this is HMAC-SHA256 done once more, another way.
  @Test func everySecretSigns() throws {
    let (one, two) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
    let body = Array("{\"a\":1}".utf8)
    let headers = Dictionary(
      uniqueKeysWithValues: WebhookSigner(keys: [one, two]).headers(
        id: "evt_1", now: Timestamp(milliseconds: 1_674_087_231_999), body: body))
    #expect(headers["webhook-id"] == "evt_1" && headers["webhook-timestamp"] == "1674087231")
    let signatures = try #require(headers["webhook-signature"]).split(separator: " ")
    for (signature, secret) in zip(signatures, [one, two]) {
      let code = try #require(Data(base64Encoded: String(signature.dropFirst(3))))
      #expect(signature.hasPrefix("v1,"))
      #expect(
        HMAC<SHA256>.isValidAuthenticationCode(
          code, authenticating: Data("evt_1.1674087231.{\"a\":1}".utf8), using: SymmetricKey(data: secret)))
    }
    #expect(signatures.count == 2 && WebhookSigner.secret([0, 0, 0]) == "whsec_AAAA")
  }
}

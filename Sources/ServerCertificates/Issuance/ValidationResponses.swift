import ACME
import Basics
import Crypto
import FoundationEssentials
public import HTTPPort
import HTTPTypes
import Hummingbird
import NIOCore
public import NIOSSL
import SwiftASN1
import Synchronization
import X509

/// The proofs that this server shows to an authority while it verifies names: files of the HTTP ports (RFC 8555 8.3)
/// and certificates of the HTTPS port (RFC 8737).
public final class ValidationResponses: TLSValidation {
  private struct Shown: Sendable {
    /// The key authorizations by token.
    var files: [String: String] = [:]
    var contexts: [String: NIOSSLContext] = [:]
  }
  private let shown = Mutex(Shown())

  public init() {}

  func show(_ responses: [ChallengeResponse]) throws {
    var new = Shown()
    for response in responses {
      switch response.kind {
      case .http: new.files[response.token] = response.authorization
      case .tlsALPN: new.contexts[response.name] = try Self.context(response)
      }
    }
    shown.withLock { $0 = new }
  }

  func hide() { shown.withLock { $0 = Shown() } }

  // MARK: RFC 8555 8.3

  public var site: HTTPSite {
    HTTPSite(routes: [
      HTTPRoute(.get, "/.well-known/acme-challenge/{token}") { [self] _, context in
        let token = context.parameters.get("token") ?? ""
        guard let text = shown.withLock({ $0.files[token] }) else { return Response(status: .notFound) }
        return Response(
          status: .ok, headers: [.contentType: "application/octet-stream"],
          body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
      }
    ])
  }

  // MARK: RFC 8737

  public var isExpected: Bool { shown.withLock { !$0.contexts.isEmpty } }

  public func context(for name: String) -> NIOSSLContext? { shown.withLock { $0.contexts[name] } }

  /// RFC 8737 3: id-pe-acmeIdentifier.
  private static let identifier: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 1, 31]

  private static func context(_ response: ChallengeResponse) throws -> NIOSSLContext {
    let key = P256.Signing.PrivateKey()
    let digest = Array(SHA256.hash(data: Array(response.authorization.utf8)))
    let name = try DistinguishedName { CommonName("ACME challenge") }
    var serializer = DER.Serializer()
    try serializer.serialize(ASN1OctetString(contentBytes: digest[...]))
    let proof = Certificate.Extension(oid: identifier, critical: true, value: serializer.serializedBytes[...])
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
      notValidBefore: Date().addingTimeInterval(-3_600), notValidAfter: Date().addingTimeInterval(86_400),
      issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        SubjectAlternativeNames([.dnsName(response.name)])
        proof
      },
      issuerPrivateKey: Certificate.PrivateKey(key))
    serializer = DER.Serializer()
    try serializer.serialize(certificate)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: [.certificate(try NIOSSLCertificate(bytes: serializer.serializedBytes, format: .der))],
      privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.pemRepresentation.utf8), format: .pem)))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["acme-tls/1"]
    configuration.shutdownTimeout = CertificateLimits.tlsCloseWait
    return try NIOSSLContext(configuration: configuration)
  }
}

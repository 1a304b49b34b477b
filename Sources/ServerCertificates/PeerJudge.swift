public import Basics
public import ServerConfiguration
public import XMPPDoor

/// The judgement of certificates as other servers make it, for checks by the operator: without certificates of this
/// server, and without the web (RFC 7711).
public struct PeerJudge: Sendable {
  private let verifier: PeerVerifier

  /// Reads the authorities.
  ///
  /// - Parameter authorities: A PEM file of the authorities to trust; `nil` for the system's.
  public init(authorities: String?, clock: any Clock) throws(StartupError) {
    verifier = PeerVerifier(try Authorities.read(authorities), posh: nil, clock: clock)
  }

  /// Returns whether a chain is good for a domain, as `PeerTrust.verify`.
  public func verify(_ chain: [[UInt8]], for domain: String, targets: [ServerTarget]) async -> PeerVerdict {
    await verifier.verify(chain, for: domain, targets: targets)
  }
}

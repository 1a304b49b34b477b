public import Basics
public import Peers
public import ServerConfiguration
import X509

/// The judgement of certificates as other servers make it, for checks by the operator: without certificates of this
/// server, and without the web (RFC 7711).
public struct PeerJudge: Sendable {
  private let verifier: PeerVerifier
  private let clock: any Clock

  /// Reads the authorities.
  ///
  /// - Parameter authorities: A PEM file of the authorities to trust; `nil` for the system's.
  public init(authorities: String?, clock: any Clock) throws(StartupError) {
    self.init(try Authorities.read(authorities), clock)
  }

  /// Reads the authorities that clients may know: public ones, which the system has, and the operator's own. This is for a
  /// judgement only; it does not change whom the server trusts.
  ///
  /// - Parameter file: A PEM file of authorities besides the system's.
  public init(besides file: String?, clock: any Clock) throws(StartupError) {
    var known = [try Authorities.read(file)]
    if file != nil, let system = try? Authorities.read(nil) { known.append(system) }
    self.init(Authorities(joining: known), clock)
  }

  init(_ authorities: Authorities, _ clock: any Clock) {
    verifier = PeerVerifier(authorities, posh: nil, clock: clock)
    self.clock = clock
  }

  /// Returns whether a chain is good for a domain, as `PeerTrust.verify`.
  public func verify(_ chain: [[UInt8]], for domain: String, targets: [ServerTarget]) async -> PeerVerdict {
    await verifier.verify(chain, for: domain, targets: targets)
  }

  /// Returns whether a chain that this server presents to clients is good for a name, and what its operator does if it is not.
  public func verify(own chain: [[UInt8]], for name: String) async -> (verdict: PeerVerdict, remedy: String?) {
    let verdict = await verify(chain, for: name, targets: [])
    guard case .invalid = verdict else { return (verdict, nil) }
    return (verdict, remedy(chain, for: name))
  }

  /// Returns what an operator does about a chain of this server whose first certificate is not valid now; `nil` for another.
  public func dateRemedy(_ chain: [[UInt8]]) -> String? {
    let now = clock.now
    guard let leaf = (try? PresentedChain(chain))?.leaf.certificate, leaf.dateFlaw(now) != nil else { return nil }
    let issued = " (with tls.acme the server renews it; parley certificate show says why it has not)"
    return leaf.dateRemedy(now) + (now < leaf.validFrom ? "" : issued)
  }

  private func remedy(_ chain: [[UInt8]], for name: String) -> String {
    let another = "get one that names \(name) (tls.acme does by itself)"
    guard let presented = try? PresentedChain(chain) else { return "\(another), or see what listens there" }
    let leaf = presented.leaf.certificate
    var steps: [String] = []
    if (try? CertificateNames(of: leaf))?.cover(domain: CertificateNames.ascii(name)) != true {
      steps.append("\(another), or see what listens there")
    }
    if let step = dateRemedy(chain) { steps.append(step) }
    if let end = presented.unknownEnd([verifier.authorities]) {
      let known = "\(another) from an authority that clients know"
      let between =
        "add the certificates between it and its authority to the file of tls.certificate (often fullchain.pem)"
      // Neither outgoing.authorities nor federation.authorities is the remedy: the server would then trust that authority in
      // place of the public ones.
      let own =
        "if that authority is your own, its certificate must be on each client, and on this machine: put it into "
        + "/usr/local/share/ca-certificates as a .crt file, and sudo update-ca-certificates"
      if end.issuer == end.subject {
        if end != leaf { steps.append("\(own); else \(known)") } else if steps.isEmpty { steps.append(known) }
      } else {
        // Who issues for everybody says where the issuer's certificate is; an authority of one's own seldom does.
        steps.append(end.locatesIssuer ? between : "\(own); else \(between)")
      }
    }
    return steps.isEmpty ? another : steps.joined(separator: "; ")
  }
}

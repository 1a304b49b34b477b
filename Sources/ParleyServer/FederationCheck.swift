import Basics
import Dialogs
import NIOCore
import NIOPosix
import NIOSSL
import Peers
import ServerCertificates
public import ServerConfiguration

/// The check of what other servers need to talk with a configured server, for `parley check --federation`: for each of its
/// domains the records in the DNS, the ports that they lead to, and the certificate.
public enum FederationCheck {
  public enum Result: String, Codable, Hashable, Sendable {
    case pass
    /// Federation works; something else should be decided.
    case warn
    case fail
  }

  public struct Row: Codable, Hashable, Sendable {
    public let domain: String
    public let step: String
    public let result: Result
    /// The finding, and what to do about it.
    public let text: String
  }

  /// - Throws: If federation is off, or files cannot be read.
  public static func rows(_ settings: Settings) async throws -> [Row] {
    guard let options = settings.federation else {
      throw StartupError("there is nothing to check: federation.enabled is false", .usage)
    }
    let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let judge = try PeerJudge(authorities: options.authorities, clock: SystemClock())
    let check = OwnDomainCheck(
      options, addresses: PublicAddresses(exceptions: settings.outgoing.networks), on: loops, clock: SystemClock(),
      dateRemedy: { judge.dateRemedy($0) }
    ) { chain, domain, targets in
      await judge.verify(chain, for: domain, targets: targets)
    }
    var rows: [Row] = []
    for domain in settings.domains {
      let files = domain.certificate ?? settings.certificate ?? settings.issuedCertificate
      let chain = try files.map { try NIOSSLCertificate.fromPEMFile($0.chain).map { try $0.toDERBytes() } }
      for (name, isRequired) in settings.federated(domain) {
        rows += await check.steps(of: name, chain: chain ?? []).map { step in
          Row(
            domain: name, step: step.step, result: step.hasPassed ? .pass : isRequired ? .fail : .warn, text: step.text)
        }
      }
      if let text = settings.openDoor {
        rows.append(Row(domain: domain.name, step: "registration", result: .warn, text: text))
      }
    }
    try await loops.shutdownGracefully()
    return rows
  }
}

extension Settings {
  /// Returns the domains that other servers connect to for a domain here, and whether federation is incomplete without:
  /// rooms are where people of several servers meet, unless they are closed to other servers; files are fetched by HTTPS.
  func federated(_ domain: Domain) -> [(name: String, isRequired: Bool)] {
    var names = [(domain.name, true)]
    if federation?.rooms != .off { names.append((domain.rooms, true)) }
    if uploads != nil { names.append((domain.uploads, false)) }
    if let pubsub = domain.pubsub { names.append((pubsub, false)) }
    if federation?.reachesComponents == true {
      names += components.filter { $0.home == domain.name }.map { ($0.name, false) }
    }
    return names
  }

  /// The warning that strangers can write to all servers from here; nil if they cannot.
  var openDoor: String? {
    guard federation != nil, allowsRegistration else { return nil }
    return
      "registration and federation are both open: whoever makes an account here can write to every server, and those "
      + "will refuse this one for it. Set registration: false and let users invite others (invitations: true), or "
      + "list partners in federation.allow"
  }
}

public import Basics
import Dialogs
import FileStorage
import ServerCertificates
public import ServerConfiguration

extension Settings {
  /// The file of the certificate that the ACME authority has issued; nil if there is none.
  var issuedCertificate: CertificateFiles? { acme?.certificate(in: DataFolder.certificates(of: data)) }

  /// Missing features and risks that are no errors, for `parley check` and the start.
  public var shortcomings: [String] {
    var texts: [String] = []
    if let uploads, uploads.thumbnails, let missing = BlobTools.missingProgram {
      texts.append("There are no thumbnails, and avatars are not made smaller: \(missing).")
    }
    if let text = acme?.shortcoming(in: DataFolder.certificates(of: data)) { texts.append(text) }
    if backups.isReplicated, !Files.exists(data + "/.parley.db-litestream") {
      texts.append("backup.replicated is true, and Litestream has not followed the database in \(data) yet.")
    }
    if backups.isReplicated, let uploads, uploads.bucket == nil {
      texts.append(
        "backup.replicated is true, and users' files are in \(data), where Litestream copies the database alone: with "
          + "uploads.store: s3 they are not lost with the machine.")
    }
    if let replacedData {
      texts.append(
        "data is \(replacedData.value) at \(replacedData.origin), but \(Keys.shared.data.environmentName) decides: the data "
          + "folder is \(data). Let both name one folder, or remove one of them.")
    }
    texts += addressesWithoutIPv6(Host.hasIPv6)
    if !boundsByNetwork {
      texts.append(
        "limits.by_network is false: one client can hold what all share, such as connections before login, and keep "
          + "others out."
      )
    }
    texts += registrationDoubts + unusedSecrets
    if let openDoor { texts.append("\(openDoor.prefix(1).uppercased())\(openDoor.dropFirst()).") }
    return texts
  }

  /// The effects of open registration with these settings.
  private var registrationDoubts: [String] {
    guard allowsRegistration else { return [] }
    var texts: [String] = []
    if registrationProofBits == nil {
      texts.append(
        "registration is true and signup.proof is false: programs create accounts as easily as people.")
    } else if signUpPage(of: domains[0]) == nil {
      texts.append(
        "registration is true with signup.proof, and there is no sign-up page (web.client, or no HTTP port): of the XMPP "
          + "clients only those with XEP-0158 can register.")
    }
    if !boundsByNetwork {
      texts.append(
        "registration is true and limits.by_network is false: nothing bounds the accounts that one client creates but "
          + "the rate of attempts\(registrationProofBits == nil ? "" : " and the proof of work").")
    }
    return texts
  }

  /// The secrets of backends that are not named, so that these are not asked.
  private var unusedSecrets: [String] {
    let groups = [("before_send", "no message is checked"), ("delivery", "no code is delivered by a backend")]
    func isSet(_ key: String) -> Bool { effective.contains { $0.key == key && !$0.value.isEmpty } }
    return groups.filter { isSet("\($0.0).secret") && !isSet("\($0.0).url") }.map { group, effect in
      "\(group).secret is set and \(group).url is not: \(effect)."
    }
  }

  /// The effects of a machine without IPv6.
  func addressesWithoutIPv6(_ hasIPv6: Bool) -> [String] {
    if hasIPv6 { return [] }
    let all = listeners.filter { $0.endpoint.host == "::" }.map { $0.key.name }.joined(separator: ", ")
    let some = listeners.filter { $0.endpoint.host != "::" && $0.endpoint.host.contains(":") }
    return (all.isEmpty ? [] : ["This machine has no IPv6: the ports of :: are opened at 0.0.0.0 (\(all))."])
      + some.map { "\($0.key.name) cannot be opened at \($0.endpoint.host): this machine has no IPv6." }
  }

  /// The errors of `parley check` about accesses that this machine will refuse to the server of the installed unit.
  public var refusals: [String] {
    let conditions = StartConditions.current
    return conditions.isCertain(self) ? conditions.doubts(self) : []
  }

  /// The doubts of `parley check` about what the configuration leads to on this machine, besides `shortcomings`.
  public func doubts(at now: Timestamp) -> [String] {
    let conditions = StartConditions.current
    return Certificates.doubts(self, issuedIn: DataFolder.certificates(of: data), at: now) { certified($0) }
      + conditions.openToAll(self) + [conditions.localhostOnly(self), conditions.shortage(self)].compactMap { $0 }
      + (conditions.isCertain(self) ? [] : conditions.doubts(self))
  }

  /// The remark of `parley check` on the connections that the limit of open files allows; nil if that is not known.
  public var capacity: String? { StartConditions.current.capacity(self) }

  /// The remarks of `parley check`: what is in order, and not for everybody who connects; and that the installed server has
  /// another configuration.
  public var remarks: [String] {
    Certificates.remarks(self) + [StartConditions.current.otherFile(self)].compactMap { $0 }
  }

  /// The names that are looked for in the certificate of a domain: its own by clients, those of its services by other
  /// servers, and the host of `http.url` by browsers and apps where that leads to the HTTPS port itself.
  func certified(_ domain: Domain) -> [String] {
    var names = federation == nil ? [domain.name] : federated(domain).map { $0.name }
    // The first domain's certificate is the one for all other names.
    guard domain == domains[0], https.isOn, publicURL.hasPrefix("https://") else { return names }
    let parts = publicURL.dropFirst("https://".count).prefix { $0 != "/" }.split(separator: ":").map(String.init)
    guard let host = parts.first, parts.count <= 2, (parts.count == 2 ? Int(parts[1]) : 443) == https.port,
      IPAddress(host) == nil, !domains.contains(where: { $0.name == host })
    else { return names }
    names.append(host)
    return names
  }
}

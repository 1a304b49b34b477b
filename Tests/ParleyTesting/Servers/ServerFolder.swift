import FoundationEssentials
import ServerConfiguration

/// A data folder of its own for a test, and the configuration that goes with it.
struct ServerFolder: Sendable {
  let path: String
  let address: Address
  let settings: [(key: String, value: String)]

  init(_ own: [Play.Setting]) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "parley-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.path
    address = Address(
      xmpp: FreePorts.take(), xmppTLS: FreePorts.take(), http: FreePorts.take(), adminSocket: path + "/data/admin.sock")
    // An empty file, so that none of the machine's own is read.
    try Data("# Empty.\n".utf8).write(to: folder.appending(path: "parley.yaml"))
    var settings = [
      ("domain", "localhost"), ("data", path + "/data"), ("xmpp.host", "127.0.0.1"), ("xmpp.port", "\(address.xmpp)"),
      ("xmpp.tls_port", "\(address.xmppTLS)"), ("xmpp.plaintext", "true"), ("http.port", "\(address.http)"),
      ("https.port", "0"), ("metrics.port", "0"), ("federation.host", "127.0.0.1"),
      ("federation.port", "\(FreePorts.take())"),
      ("federation.tls_port", "0"), ("registration", "true"), ("threads", "2"), ("log.level", "info"),
    ]
    for setting in own {
      settings.removeAll { $0.0 == setting.key }
      settings.append((setting.key, setting.value))
    }
    self.settings = settings.map { (key: $0.0, value: $0.1) }
  }

  var file: String { path + "/parley.yaml" }

  /// Best effort: what stays behind lies in the folder for temporary files.
  func remove() { try? FileManager.default.removeItem(atPath: path) }
}

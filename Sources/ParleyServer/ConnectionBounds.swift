/// The numbers of connections that a limit of open files allows, as a value. Each connection is an open file.
struct ConnectionBounds: Hashable, Sendable {
  /// The limit of open files.
  let files: Int

  /// Those of a process whose limit the system does not say are unlimited.
  init(files: Int?) { self.files = files ?? .max }

  /// The open files that no connection of clients or servers takes.
  var kept: Int {
    min(max(files / 4, ServerLimits.descriptorsKeptLeast), ServerLimits.descriptorsKeptMost)
  }
  /// The connections of clients and servers at all ports.
  var all: Int { max(files - kept, 1) }
  /// The connections without a login at the XMPP ports of clients, and as many at the HTTP ports: half of all together, so
  /// that logged-in users keep their connections whatever strangers do.
  var withoutLogin: Int { max(files / 4, 1) }
  /// The connections of logged-in users of one network at all ports: half of all, or as many as an office needs if that is more.
  var ofNetwork: Int { min(max(all / 2, ServerLimits.networkConnectionsLeast), all) }
  /// The connections of proxies whose header has not come yet. They are accepted where all connections are taken, too, since their
  /// client may take the place of another one: so they have half of what is kept, and the store has the rest.
  var awaitingHeaders: Int { kept / 2 }
  /// The links to other servers, each of which may have a stream.
  var links: Int { max(files / 4, 1) }

  /// The text of `parley check`.
  var text: String { "The limit of open files is \(files), which allows \(all) connections." }
  /// The warning of a limit that is little even for a small server; nil for others.
  var doubt: String? {
    guard files < ServerLimits.descriptorsLow else { return nil }
    return "The limit of open files is \(files), which allows \(all) connections only: raise it "
      + "(LimitNOFILE= of systemd, ulimit -n)."
  }
}

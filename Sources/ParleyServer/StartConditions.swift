import Basics
import Glibc
import Peers
package import ServerConfiguration

/// The things that the machine must let the server do, and that a check can see before a start: ports, folders, files,
/// kinds of addresses. They are judged for the user of the installed unit if that starts the server with this
/// configuration, else for the user who runs the check; for root, for the owner of the data folder.
package struct StartConditions {
  /// The unit; nil if none is installed.
  var unit: ServiceUnit?
  /// The user who runs the check.
  var user: SystemUser
  /// Whether this process may open all ports.
  var bindsAllPorts: Bool
  /// The ports below this one need a capability (`net.ipv4.ip_unprivileged_port_start`, ip(7)).
  var firstFreePort: Int
  /// The limit of open files to which a server of this user can raise its own; nil if the system does not say it.
  var files: Int?

  package static var current: StartConditions {
    StartConditions(
      unit: ServiceUnit.installed(), user: SystemUser.current,
      bindsAllPorts: text(of: "/proc/self/status").map(holdsNetBindService) ?? false,
      firstFreePort: text(of: "/proc/sys/net/ipv4/ip_unprivileged_port_start").flatMap { Int($0.trimmed) } ?? 1_024,
      files: OpenFiles.highest)
  }

  fileprivate static func text(of path: String) -> String? {
    (try? Files.read(path, bytesMax: 65_536)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether the effective capabilities in a status file of proc(5) have CAP_NET_BIND_SERVICE, which is bit 10.
  static func holdsNetBindService(_ status: String) -> Bool {
    for line in status.split(separator: "\n") where line.hasPrefix("CapEff:") {
      return UInt64(line.dropFirst("CapEff:".count).trimmed, radix: 16).map { $0 >> 10 & 1 == 1 } ?? false
    }
    return false
  }

  /// Returns the unit if it starts the server with this configuration.
  private func starting(_ settings: Settings) -> ServiceUnit? {
    unit.flatMap { $0.starts(settings.file) ? $0 : nil }
  }

  /// Whether what the server will be refused is known: a unit says as whom and with what permissions it runs. Without one,
  /// the user who will start it is a guess.
  package func isCertain(_ settings: Settings) -> Bool {
    starting(settings).map { !$0.changesFiles } ?? false
  }

  /// Returns a sentence for each thing that the server will be refused.
  package func doubts(_ settings: Settings) -> [String] {
    let unit = starting(settings)
    var texts = lowPorts(settings, unit)
    // systemd creates such a user at the start.
    if unit?.isDynamic == true { return texts }
    if let unit, !unit.unknownNames.isEmpty {
      let names = unit.unknownNames.joined(separator: ", ")
      return texts + ["\(unit.name) names users or groups that this machine does not have: \(names)."]
    }
    // Without a unit, root starts the server as whoever has its data.
    let server = unit?.server ?? (user.id == 0 ? SystemUser.owner(of: settings.data) : nil) ?? user
    let isSelf = server.id == user.id
    // Only root sees all that another user may do.
    guard isSelf || user.id == 0 else { return texts }
    texts += folders(settings, unit, server, isSelf)
    if !isSelf { texts += files(settings, server) }
    return texts
  }

  /// Returns what the limit of open files allows the server; nil if it is not known.
  func capacity(_ settings: Settings) -> String? { connections(starting(settings))?.text }

  /// Returns a warning if the limit of open files is low; the server starts nonetheless.
  func shortage(_ settings: Settings) -> String? { connections(starting(settings))?.doubt }

  private func connections(_ unit: ServiceUnit?) -> ConnectionBounds? {
    (unit?.files ?? files).map { ConnectionBounds(files: $0) }
  }

  /// Returns a path without `.`, `..` and symbolic links; as it is if nothing is there.
  fileprivate static func real(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }

  private func lowPorts(_ settings: Settings, _ unit: ServiceUnit?) -> [String] {
    let low = settings.listeners.filter { $0.endpoint.port < firstFreePort }
    guard !low.isEmpty, !(unit.map(\.bindsAllPorts) ?? bindsAllPorts) else { return [] }
    let ports = low.map { "\($0.endpoint.port) (\($0.key.name))" }.joined(separator: ", ")
    let capability = "AmbientCapabilities=CAP_NET_BIND_SERVICE"
    let remedy = unit?.adding(capability) ?? "start the server by a unit of systemd with \(capability)"
    return [
      "Ports below \(firstFreePort) need CAP_NET_BIND_SERVICE, which \(unit.map(\.name) ?? user.name) does not have: "
        + "\(ports). Set ports from \(firstFreePort) on, or \(remedy)."
    ]
  }

  /// The data folder of the server; nil if it is not known. One that nothing names is not judged: an image names another
  /// place in the environment.
  private func data(_ settings: Settings, _ unit: ServiceUnit?) -> String? {
    let key = Keys.shared.data
    guard let origin = settings.effective.first(where: { $0.key == key.name })?.origin else { return nil }
    // The command line and the environment of the check are meant to be those of the server, and decide before its own.
    if origin.hasPrefix("--") || origin == key.environmentName { return settings.data }
    if let data = unit?.variables[key.environmentName] { return Files.absolute(data) }
    return origin == "\(Origin.standard)" ? nil : settings.data
  }

  /// The folders that the server writes to, and what is in the data folder.
  private func folders(
    _ settings: Settings, _ unit: ServiceUnit?, _ server: SystemUser, _ isSelf: Bool
  ) -> [String] {
    var written: [(key: String, folder: String)] = []
    let data = data(settings, unit)
    if let data { written.append((Keys.shared.data.name, data)) }
    if settings.backups.every != nil, settings.backups.place == .folder {
      let key = Keys.shared.backupFolder.name
      let isDerived = settings.effective.first { $0.key == key }?.origin == "\(Origin.derived)"
      if let folder = isDerived ? data.map({ $0 + "/backups" }) : settings.backups.folder {
        written.append((key, folder))
      }
    }
    return written.compactMap { key, folder -> String? in
      if unit?.makes(folder, for: server) == true { return nil }
      let reason = server.obstacle(toWriting: folder, isSelf: isSelf)
      let closing = unit.flatMap { $0.letsWrite(folder) ? nil : $0 }
      if reason != nil || closing != nil {
        let isForbidden = reason == Files.reason(EACCES)
        var parts: [String] = []
        if reason == nil || isForbidden, (try? Files.isMissing(folder)) == true {
          parts = ["there is no folder \(folder)", DataFolder.creating(folder, for: server)]
        } else if let reason {
          parts.append("\(server.name) cannot write to \(folder): \(reason)")
          if isForbidden { parts.append(server.opening(folder, isWhole: folder == data)) }
        } else if let closing {
          parts.append("\(closing.name) does not let the server write to \(folder)")
        }
        if let closing { parts.append(closing.adding("ReadWritePaths=\(folder)")) }
        return "\(key): \(parts.joined(separator: "; "))."
      }
      guard folder == data else { return nil }
      var unused: Set<String> = settings.uploads == nil ? ["blobs"] : []
      if settings.certificate != nil, settings.acme == nil { unused.insert("tls") }
      let closed = DataFolder.closed(in: folder, unused: unused, isWhole: true) { server.may($0, $1) }
      if closed.isEmpty { return nil }
      return "\(DataFolder.listed(closed)) cannot be opened by \(server.name), the user of the server: "
        + "\(DataFolder.givingAway(folder, to: server))"
    }
  }

  /// The files that the server reads, for a user who is not the one who has read them now.
  private func files(_ settings: Settings, _ server: SystemUser) -> [String] {
    var paths: [String?] = [
      settings.file, settings.pushes.apns?.path, settings.pushes.fcm?.path, settings.acme?.external?.keyFile,
      settings.acme?.authorities, settings.outgoing.authorities, settings.federation?.authorities,
    ]
    for files in [settings.certificate] + settings.domains.map(\.certificate) { paths += [files?.chain, files?.key] }
    var known = Set<String>()
    return paths.compactMap { $0 }.filter { known.insert($0).inserted && Files.exists($0) && !server.may(.read, $0) }
      .map { path in
        "\(path) cannot be read by \(server.name), the user of the server: "
          + Files.opening(path, to: server.groupAccount) { server.may(.enter, $0) }
      }
  }

  /// Returns a sentence for each private key, and for the data folder, to which every user of the machine has access.
  func openToAll(_ settings: Settings) -> [String] {
    // Somebody who owns nothing and is in no group.
    let anybody = SystemUser(name: "anybody", id: UInt32.max - 1, groups: [])
    let external = settings.acme?.external?.keyFile
    var keys = ([settings.certificate] + settings.domains.map(\.certificate)).compactMap { $0?.key }
    keys += [settings.pushes.apns?.path, settings.pushes.fcm?.path, external].compactMap { $0 }
    var known = Set<String>()
    var texts = keys.filter { known.insert($0).inserted && anybody.may(.read, $0) }.map {
      "Every user of this machine may read the private key \($0): sudo chmod o-rwx \($0)"
    }
    if let data = data(settings, starting(settings)), anybody.may(.read, data) || anybody.may(.enter, data) {
      texts.append("Every user of this machine may enter the data folder \(data): sudo chmod o-rwx \(data)")
    }
    return texts
  }

  /// Returns a warning if the installed server has addresses of its own machine only, as with the configuration of a new
  /// package.
  func localhostOnly(_ settings: Settings) -> String? {
    guard let file = settings.file, starting(settings) != nil, settings.domains.map(\.name) == ["localhost"] else {
      return nil
    }
    return "domain is localhost: nobody outside this machine can use an address such as alice@localhost. Set domain in "
      + "\(file) before you add users: their addresses end with it for good."
  }

  /// Returns a remark if root, who can see all that the server of the installed unit will meet, checks another file with the
  /// program of the unit: one in the current folder is found before that of the unit.
  func otherFile(_ settings: Settings) -> String? {
    guard user.id == 0, let unit, let file = unit.configuration, unit.runs("/proc/self/exe"),
      !unit.starts(settings.file)
    else { return nil }
    return "\(unit.name) reads \(file), which was not checked: parley check --config \(file)"
  }
}

extension Settings {
  /// Returns the variables that determine the configuration of a command: its own, and those that the installed unit gives
  /// the server, if that has the same program and the same configuration file. Without the latter a command would work on
  /// another data folder than the server, where it might even make a second one, or check other ports.
  package static func variables(_ own: [String: String], _ arguments: SettingsArguments) -> [String: String] {
    // A program that was built in a checkout is not the unit's, even if it finds the configuration file of the unit: its server
    // must not be started on the data folder of the installed one.
    let unit = ServiceUnit.installed().flatMap { $0.runs("/proc/self/exe") ? $0 : nil }
    return variables(own, file: configurationFile(arguments, environment: own), of: unit)
  }

  static func variables(_ own: [String: String], file: String?, of unit: ServiceUnit?) -> [String: String] {
    guard let unit, unit.starts(file) else { return own }
    // The file is known already.
    let given = unit.variables.filter { $0.key.hasPrefix("PARLEY_") && $0.key != fileVariable }
    return own.merging(given) { mine, _ in mine }
  }
}

/// A user of the system.
struct SystemUser {
  enum Right: UInt32 {
    case read = 4
    case write = 2
    case enter = 1
  }

  let name: String
  let id: UInt32
  let groups: Set<UInt32>
  /// The number of the user's own group, or of that in its place; nil if it is not known.
  private(set) var primary: UInt32?
  /// The user as commands such as chown(1) take it.
  var account: String { name.contains(" ") ? "\(id)" : name }
  /// The user's own group as commands such as chgrp(1) take it.
  var groupAccount: String {
    guard let primary else { return account }
    guard let entry = getgrgid(primary) else { return "\(primary)" }
    return String(cString: entry.pointee.gr_name)
  }

  init(name: String, id: UInt32, groups: Set<UInt32>) {
    self.name = name
    self.id = id
    self.groups = groups
  }

  /// Looks a user up by name or number; nil if there is none.
  ///
  /// - Parameters:
  ///   - group: The name of a group in place of the user's own.
  ///   - supplementary: The names of groups besides.
  init?(named name: String, group: String? = nil, supplementary: [String] = []) {
    let more = supplementary.compactMap { Self.group($0) }
    let primary = group.flatMap { Self.group($0) }
    var found: UnsafeMutablePointer<passwd>? = getpwnam(name)
    if found == nil, let id = UInt32(name) { found = getpwuid(id) }
    guard let entry = found else {
      guard let id = UInt32(name) else { return nil }
      self.init(name: name, id: id, groups: Set(more + [primary].compactMap { $0 }))
      self.primary = primary
      return
    }
    let (id, own) = (entry.pointee.pw_uid, primary ?? entry.pointee.pw_gid)
    let account = String(cString: entry.pointee.pw_name)
    var groups = [UInt32](repeating: 0, count: 256)
    var count = Int32(groups.count)
    // With more groups than that, the first ones are taken.
    _ = getgrouplist(account, own, &groups, &count)
    let known = Array(groups.prefix(Int(max(0, min(count, 256)))))
    self.init(name: name, id: id, groups: Set(known + more + [own]))
    self.primary = own
  }

  /// Looks the owner of a file or folder up; nil if there is none.
  static func owner(of path: String) -> SystemUser? {
    guard let found = Files.status(path) else { return nil }
    let id = found.owner
    if let entry = getpwuid(id), let user = SystemUser(named: String(cString: entry.pointee.pw_name)) { return user }
    return SystemUser(name: "the user \(id)", id: id, groups: [found.group])
  }

  /// Returns the number of a group by its name or number; nil if there is none.
  static func group(_ name: String) -> UInt32? {
    guard let entry = getgrnam(name) else { return UInt32(name) }
    return entry.pointee.gr_gid
  }

  /// The user of this process.
  static var current: SystemUser {
    let id = geteuid()
    if let entry = getpwuid(id), let user = SystemUser(named: String(cString: entry.pointee.pw_name)) { return user }
    return SystemUser(name: "the user \(id)", id: id, groups: [getegid()])
  }

  /// Whether the user has a right to a file or folder, by its mode or access control list and those of the folders above
  /// it (path_resolution(7)).
  func may(_ right: Right, _ path: String) -> Bool {
    if id == 0 { return true }
    var folder = path
    while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
      folder = String(folder[..<slash])
      guard hasRight(.enter, folder) else { return false }
    }
    return hasRight(right, path)
  }

  private func hasRight(_ right: Right, _ path: String) -> Bool {
    guard let found = Files.status(path) else { return false }
    // Linux asks the list only if its mask, which the mode shows as the rights of the group, is not empty.
    if found.mode & S_IRWXG != 0, let list = AccessList(of: path) {
      return list.grants(right, to: id, groups: groups, owner: found.owner, ownersGroup: found.group)
    }
    let shift: UInt32 = found.owner == id ? 6 : groups.contains(found.group) ? 3 : 0
    return found.mode >> shift & right.rawValue != 0
  }

  /// Returns what lets the user write to a folder that is there.
  ///
  /// - Parameter isWhole: Whether all that is in it is the user's as well.
  func opening(_ folder: String, isWhole: Bool) -> String {
    var outer = folder
    var closed: String?
    while let slash = outer.lastIndex(of: "/"), slash != outer.startIndex {
      outer = String(outer[..<slash])
      if !hasRight(.enter, outer) { closed = outer }
    }
    if let closed { return "\(name) may not enter \(closed): name another folder, or sudo chmod o+x \(closed)" }
    if Files.status(folder)?.owner == id { return "sudo chmod u+rwx \(folder)" }
    return isWhole ? DataFolder.givingAway(folder, to: self) : "sudo chown \(account) \(folder)"
  }

  /// Returns why the user cannot write to a folder, or make it where it is missing; nil if they can.
  ///
  /// - Parameter isSelf: Whether it is the user of this process, whom the system itself can be asked about.
  func obstacle(toWriting folder: String, isSelf: Bool) -> String? {
    var place = folder
    while !Files.exists(place), let slash = place.lastIndex(of: "/"), place != "/" {
      place = slash == place.startIndex ? "/" : String(place[..<slash])
    }
    if let found = Files.status(place), !found.isFolder { return Files.reason(ENOTDIR) }
    let isAllowed = may(.write, place) && may(.enter, place)
    guard isSelf else { return isAllowed ? nil : Files.reason(EACCES) }
    if access(place, W_OK | X_OK) == 0 { return nil }
    // A unit may give its user more groups than this process has.
    let code = errno
    return isAllowed && code == EACCES && id != 0 ? nil : Files.reason(code)
  }
}

/// The parts of a systemd unit that decide what the server may do (systemd.exec(5)).
struct ServiceUnit {
  let name: String
  /// The program of `ExecStart=`.
  private var program: String?
  /// The file after `--config`; nil for none.
  private(set) var configuration: String?
  /// nil for root.
  private(set) var user: String?
  private var group: String?
  private var supplementary: [String] = []
  /// `DynamicUser=`.
  private var wantsDynamicUser = false
  private var capabilities = ""
  /// The hard limit of `LimitNOFILE=`; nil if the unit has none of its own.
  private(set) var files: Int?
  private var isStrict = false
  private var state: [String] = []
  private var writable: [String] = []
  /// The variables of the server's environment, those of `EnvironmentFile=` included.
  private(set) var variables: [String: String] = [:]
  private var variableFiles: [String] = []
  /// Whether the server may see other files than this process, or other rights to them: a change before it starts, a folder
  /// in the place of another, capabilities that pass over modes.
  private(set) var changesFiles = false

  /// The keys with a value that make `changesFiles` true.
  private static let keysThatChangeFiles: Set = [
    "ExecStartPre", "ExecCondition", "RootDirectory", "RootImage", "BindPaths", "BindReadOnlyPaths", "MountImages",
    "TemporaryFileSystem", "ExtensionImages", "ExtensionDirectories", "PrivateUsers",
  ]

  /// The folders of the system's units, of which earlier ones take precedence (systemd.unit(5), unit file load path).
  private static let folders = [
    "/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient",
    "/run/systemd/generator.early", "/etc/systemd/system", "/etc/systemd/system.attached", "/run/systemd/system",
    "/run/systemd/system.attached", "/run/systemd/generator", "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/generator.late",
  ]

  /// Returns the unit of the package, or of `make install`, with all drop-ins, those for every service as well: in the
  /// order of their names, whatever their folders; one takes the place of those of its name in later folders.
  static func installed(below root: String = "") -> ServiceUnit? {
    let folders = Self.folders.map { root + $0 }
    guard let whole = folders.lazy.compactMap({ StartConditions.text(of: $0 + "/parley.service") }).first else {
      return nil
    }
    var dropIns: [String: String] = [:]
    for folder in folders.map({ $0 + "/parley.service.d" }) + folders.map({ $0 + "/service.d" }) {
      for name in Folder.names(folder) where name.hasSuffix(".conf") && dropIns[name] == nil {
        dropIns[name] = folder + "/" + name
      }
    }
    let texts = dropIns.sorted { $0.key < $1.key }.compactMap { StartConditions.text(of: $0.value) }
    return ServiceUnit([whole] + texts)
  }

  /// Reads files, of which later ones add to and override earlier ones.
  init(_ texts: [String]) {
    name = "parley.service"
    for line in texts.flatMap({ $0.replacing("\\\n", with: " ").split(separator: "\n") }) {
      guard let equals = line.firstIndex(of: "=") else { continue }
      let value = line[line.index(after: equals)...].trimmed
      let words = value.split(separator: " ").map(String.init)
      let key = String(line[..<equals].trimmed)
      if Self.keysThatChangeFiles.contains(key), !value.isEmpty { changesFiles = true }
      switch key {
      // An empty value takes back what was there before.
      case "User": user = value.isEmpty ? nil : String(value)
      case "Group": group = value.isEmpty ? nil : String(value)
      case "SupplementaryGroups": supplementary = words.isEmpty ? [] : supplementary + words
      case "DynamicUser": wantsDynamicUser = ["1", "yes", "y", "true", "t", "on"].contains(value.lowercased())
      case "ExecStart":
        let option = words.firstIndex(of: "--config").map { $0 + 1 }
        if let first = words.first?.first, "+!".contains(first) { changesFiles = true }
        // The prefixes of systemd.service(5), table 2.
        program = words.first.map { String($0.drop { "@-:+!|".contains($0) }) }
        configuration =
          option.flatMap { $0 < words.count ? words[$0] : nil }
          ?? words.first { $0.hasPrefix("--config=") }.map { String($0.dropFirst("--config=".count)) }
      case "AmbientCapabilities": capabilities = value.isEmpty ? "" : capabilities + " " + value
      case "LimitNOFILE": files = value.split(separator: ":").last.flatMap { Int($0) }
      case "ProtectSystem": isStrict = value == "strict"
      case "ReadWritePaths":
        writable = words.isEmpty ? [] : writable + words.map { $0.hasPrefix("-") ? String($0.dropFirst()) : $0 }
      case "StateDirectory": state = words.isEmpty ? [] : state + words.map { "/var/lib/\($0)" }
      case "Environment":
        if value.isEmpty { variables = [:] }
        // A variable whose value has a specifier of systemd.unit(5), which only systemd can replace, is not known.
        for word in Self.unquoted(value, isList: true) where !word.replacing("%%", with: "").contains("%") {
          if let (name, text) = Self.assignment(word) { variables[name] = text.replacing("%%", with: "%") }
        }
      case "EnvironmentFile":
        let file = value.hasPrefix("-") ? String(value.dropFirst()) : String(value)
        variableFiles = file.isEmpty ? [] : variableFiles + [file]
      default: continue
      }
    }
    if capabilities.contains("CAP_DAC_") { changesFiles = true }
    for file in variableFiles {
      for line in StartConditions.text(of: file)?.split(separator: "\n") ?? [] {
        guard let (name, text) = Self.assignment(line.trimmed) else { continue }
        variables[name] = Self.unquoted(text, isList: false).first ?? ""
      }
    }
  }

  /// Whether it starts the server with this configuration file.
  func starts(_ file: String?) -> Bool {
    guard let file, let configuration else { return false }
    return StartConditions.real(file) == StartConditions.real(configuration)
  }

  /// Whether it starts this program.
  func runs(_ program: String) -> Bool {
    self.program.map { StartConditions.real($0) } == StartConditions.real(program)
  }

  /// Returns the two sides of an assignment; nil for a comment, or for a text without one.
  private static func assignment(_ text: String) -> (name: String, value: String)? {
    guard let equals = text.firstIndex(of: "="), !"#;".contains(text[text.startIndex]) else { return nil }
    return (text[..<equals].trimmed, text[text.index(after: equals)...].trimmed)
  }

  /// Returns the items of a list that blanks separate, or the one value of a line, without the quotes around them. In a line
  /// these stand at the beginning of the value only (systemd.syntax(7), Quoting; systemd.exec(5), `EnvironmentFile=`).
  private static func unquoted(_ text: String, isList: Bool) -> [String] {
    var items: [String] = []
    var item: String?
    var quote: Character?
    var isEscaped = false
    for character in text {
      if isEscaped {
        item = (item ?? "") + String(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if character == quote {
        quote = nil
      } else if quote == nil, isList || item == nil, character == "\"" || character == "'" {
        quote = character
        item = item ?? ""
      } else if quote == nil, isList, character.isWhitespace {
        if let item { items.append(item) }
        item = nil
      } else {
        item = (item ?? "") + String(character)
      }
    }
    if let item { items.append(item) }
    return items
  }

  /// The user as whom the server runs, with the groups that the unit names; nil if the machine has no such user.
  var server: SystemUser? {
    let name = user ?? "root"
    return SystemUser(named: name, group: group, supplementary: supplementary)
  }

  /// The names of users and groups that the machine does not have.
  var unknownNames: [String] {
    let users = user.map { SystemUser(named: $0) == nil ? [$0] : [] } ?? []
    return users + ([group].compactMap { $0 } + supplementary).filter { SystemUser.group($0) == nil }
  }

  /// Whether systemd makes a user for the time for which the server runs. It takes one of that name if the machine has it.
  var isDynamic: Bool { wantsDynamicUser && user.flatMap { SystemUser(named: $0) } == nil }

  var bindsAllPorts: Bool { !isDynamic && server?.id == 0 || capabilities.contains("CAP_NET_BIND_SERVICE") }

  /// Whether the folder is one that systemd makes at a start for the unit's user, or gives with all that is in it to that
  /// user because it has another owner (systemd.exec(5), `StateDirectory=`).
  func makes(_ folder: String, for server: SystemUser) -> Bool {
    guard state.contains(folder) else { return false }
    return Files.status(folder).map { $0.owner != server.id || $0.group != server.primary } ?? true
  }

  /// Returns what adds a line to the unit.
  func adding(_ line: String) -> String {
    "sudo systemctl edit \(name.replacing(".service", with: "")) and add \(line) under [Service]"
  }

  func letsWrite(_ folder: String) -> Bool {
    !isStrict || (state + writable).contains { folder == $0 || folder.hasPrefix($0 + "/") }
  }
}

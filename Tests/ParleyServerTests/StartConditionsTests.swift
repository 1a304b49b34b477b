import Basics
import CXattr
import Foundation
import Glibc
import ServerConfiguration
import ServerFixtures
import Testing

@testable import ParleyServer

/// What `parley check` says of the machine on which the server would start.
@Suite struct StartConditionsTests {
  private let root = SystemUser(name: "root", id: 0, groups: [0])

  /// Returns the settings of a file in the folder, which every user may read, as the folder.
  private func load(_ folder: String, _ yaml: String) throws -> Settings {
    let file = folder + "/parley.yaml"
    try Files.write(Array(yaml.utf8), to: file, mode: 0o644)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
    return try Settings.load(SettingsArguments(file: file), environment: [:], standardFiles: [])
  }

  /// Returns the text of the packaged unit, for another configuration file, the user who runs the tests, and the data
  /// folder of the file.
  private func text(_ file: String) throws -> String {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("conf/parley.service").path
    return String(decoding: try Files.read(path, bytesMax: 65_536), as: UTF8.self)
      .replacing("/etc/parley/parley.yaml", with: file)
      .replacing("User=parley\nGroup=parley\n", with: "User=\(SystemUser.current.name)\n")
      .replacing("Environment=PARLEY_DATA=/var/lib/parley\n", with: "")
  }

  private func unit(_ file: String, _ more: String = "") throws -> ServiceUnit { ServiceUnit([try text(file), more]) }

  private func conditions(_ unit: ServiceUnit?, _ user: SystemUser, bindsAllPorts: Bool = true) -> StartConditions {
    StartConditions(unit: unit, user: user, bindsAllPorts: bindsAllPorts, firstFreePort: 1_024)
  }

  @Test func portsBelow1024NeedACapability() throws {
    try withScratchFolder { folder in
      let settings = try load(folder, "https.port: 443\nhttp.port: 80\nxmpp.tls_port: 0\n")
      let user = SystemUser(name: "somebody", id: SystemUser.current.id, groups: [])
      #expect(conditions(nil, user).doubts(settings) == [])
      var refused = conditions(nil, user, bindsAllPorts: false)
      #expect(
        refused.doubts(settings) == [
          "Ports below 1024 need CAP_NET_BIND_SERVICE, which somebody does not have: 80 (http.port), 443 (https.port). "
            + "Set ports from 1024 on, or start the server by a unit of systemd with AmbientCapabilities=CAP_NET_BIND_SERVICE."
        ])
      refused.firstFreePort = 80
      #expect(refused.doubts(settings) == [])

      // The unit gives it to the server, or takes it away, whoever runs the check.
      refused.firstFreePort = 1_024
      refused.unit = try unit(folder + "/parley.yaml")
      #expect(refused.doubts(settings) == [])
      refused.unit = try unit(folder + "/parley.yaml", "[Service]\nUser=nobody\nAmbientCapabilities=\n")
      let ofUnit = try #require(refused.doubts(settings).first)
      #expect(ofUnit.contains("which parley.service does not have: 80"))
      #expect(
        ofUnit.hasSuffix(
          "or sudo systemctl edit parley and add AmbientCapabilities=CAP_NET_BIND_SERVICE under [Service]."))
      // It says nothing of a server with another configuration.
      refused.unit = try unit("/etc/parley/parley.yaml")
      #expect(refused.doubts(settings).first?.contains("which somebody does not have: 80") == true)
    }
    #expect(StartConditions.holdsNetBindService("CapPrm:\t0\nCapEff:\t0000000000000400\n"))
    #expect(!StartConditions.holdsNetBindService("CapPrm:\t400\nCapEff:\t0000000000000200\n"))
  }

  /// However the file is named: by a relative path, or by a link.
  @Test func theUnitIsFoundByAnyPathOfItsFile() throws {
    try withScratchFolder { folder in
      _ = try load(folder, "http.port: 80\n")
      try FileManager.default.createSymbolicLink(
        atPath: folder + "/link.yaml", withDestinationPath: folder + "/parley.yaml")
      let up = FileManager.default.currentDirectoryPath.split(separator: "/").map { _ in ".." }.joined(separator: "/")
      var judging = conditions(nil, SystemUser.current, bindsAllPorts: false)
      for path in [folder + "/parley.yaml", up + folder + "/parley.yaml", folder + "/./link.yaml"] {
        let settings = try Settings.load(SettingsArguments(file: path), environment: [:], standardFiles: [])
        judging.unit = nil
        #expect(judging.doubts(settings).count == 1, "\(path)")
        // The unit gives the server the permission.
        judging.unit = try unit(folder + "/parley.yaml")
        #expect(judging.doubts(settings) == [], "\(path)")
      }
    }
  }

  @Test func allDropInsOfTheUnitCountInTheirOrder() throws {
    try withScratchFolder { root in
      func write(_ path: String, _ text: String) throws {
        let file = root + path
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Files.write(Array(text.utf8), to: file, mode: 0o644)
      }
      #expect(ServiceUnit.installed(below: root) == nil)
      try write("/lib/systemd/system/parley.service", try text("/etc/parley/other.yaml"))
      try write("/usr/local/lib/systemd/system/parley.service", try text("/etc/parley/parley.yaml"))
      try write(
        "/lib/systemd/system/parley.service.d/10-user.conf", "[Service]\nUser=nobody\nSupplementaryGroups=1 2\n")
      try write("/etc/systemd/system/parley.service.d/20-paths.conf", "[Service]\nReadWritePaths=/srv/a \\\n /srv/b\n")
      // Files for all services give way to those of the name, and stand in the same order otherwise.
      try write("/etc/systemd/system/service.d/10-user.conf", "[Service]\nUser=root\n")
      try write(
        "/run/systemd/system/service.d/30-groups.conf", "[Service]\nSupplementaryGroups=\nSupplementaryGroups=3\n")
      // A later folder's file of the name, and what is no drop-in.
      try write("/run/systemd/system/parley.service.d/20-paths.conf", "[Service]\nReadWritePaths=/srv/c\n")
      try write("/etc/systemd/system/parley.service.d/40-paths.conf.old", "[Service]\nReadWritePaths=/srv/d\n")
      let unit = try #require(ServiceUnit.installed(below: root))
      #expect(unit.configuration == "/etc/parley/parley.yaml")
      #expect(unit.user == "nobody" && unit.unknownNames == [])
      #expect(["a", "b", "c", "d"].filter { unit.letsWrite("/srv/\($0)") } == ["a", "b"])
      let groups = try #require(unit.server).groups
      #expect(groups.contains(3) && !groups.contains(1) && !groups.contains(2))
    }
    func configuration(_ command: String) throws -> String? {
      try unit("/a.yaml", "[Service]\nExecStart=\nExecStart=\(command)\n").configuration
    }
    #expect(try configuration("/bin/parley serve --config=/b.yaml") == "/b.yaml")
    #expect(try configuration("/bin/parley serve") == nil)
  }

  @Test func aUnitNamesUsersAndGroupsThatThereAre() throws {
    try withScratchFolder { folder in
      let settings = try load(folder, "data: \(folder)/none/data\n")
      func doubts(_ more: String) throws -> [String] {
        conditions(try unit(folder + "/parley.yaml", "[Service]\n" + more), root).doubts(settings)
      }
      let lacks = "parley.service names users or groups that this machine does not have"
      #expect(try doubts("User=nobody-here\nSupplementaryGroups=none-here\n") == ["\(lacks): nobody-here, none-here."])
      // A user for the time of the run has no rights yet that could be judged.
      #expect(try doubts("User=nobody-here\nDynamicUser=yes\n") == [])
      #expect(try doubts("User=nobody-here\nDynamicUser=y\n") == [])
      // A number is the user who has it, with the groups of that user.
      let nobody = try #require(SystemUser(named: "nobody"))
      #expect(SystemUser(named: "\(nobody.id)")?.groups == nobody.groups && !nobody.groups.isEmpty)
      #expect(try unit("/a.yaml", "[Service]\nUser=0\nAmbientCapabilities=\n").bindsAllPorts)
      #expect(try !unit("/a.yaml", "[Service]\nUser=\(nobody.id)\nAmbientCapabilities=\n").bindsAllPorts)
      // One that the machine has is taken, and without a name it is not root.
      #expect(try !unit("/a.yaml", "[Service]\nUser=nobody\nDynamicUser=yes\n").isDynamic)
      #expect(try !unit("/a.yaml", "[Service]\nUser=\nDynamicUser=yes\nAmbientCapabilities=\n").bindsAllPorts)
    }
  }

  @Test func anAccessControlListDecides() throws {
    let mine: UInt32 = 4_711
    // Each entry is a tag, rights and a number.
    func list(_ entries: [(UInt8, UInt8, UInt32)]) -> [UInt8] {
      var bytes: [UInt8] = [2, 0, 0, 0]
      for (tag, rights, id) in entries {
        bytes += [tag, 0, rights, 0]
        for shift: UInt32 in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: id >> shift)) }
      }
      return bytes
    }
    func may(_ right: SystemUser.Right, _ bytes: [UInt8], groups: Set<UInt32> = []) throws -> Bool {
      try #require(AccessList(bytes)).grants(right, to: mine, groups: groups, owner: 1, ownersGroup: 2)
    }
    let nobody: UInt32 = 0xffff_ffff
    let base: [(UInt8, UInt8, UInt32)] = [(1, 7, nobody), (4, 0, nobody), (0x20, 0, nobody)]
    #expect(try !may(.read, list(base)))
    #expect(try may(.read, list(base + [(2, 4, mine)])))
    #expect(try !may(.write, list(base + [(2, 4, mine)])))
    #expect(try !may(.read, list(base + [(2, 4, mine + 1)])))
    // The mask bounds users and groups.
    #expect(try !may(.read, list(base + [(2, 4, mine), (0x10, 2, nobody)])))
    #expect(try may(.read, list(base + [(8, 4, 99), (0x10, 4, nobody)]), groups: [99]))
    #expect(try !may(.read, list(base + [(8, 4, 99), (0x10, 0, nobody)]), groups: [99]))
    // One of several groups is enough, and a group that refuses decides before the others.
    #expect(try may(.read, list(base + [(8, 4, 99)]), groups: [2, 99]))
    #expect(try !may(.read, list([(1, 7, nobody), (4, 0, nobody), (0x20, 4, nobody)]), groups: [2]))
    #expect(AccessList([]) == nil && AccessList([1, 0, 0, 0]) == nil && AccessList([2, 0, 0, 0, 1]) == nil)

    try withScratchFolder { folder in
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
      let file = folder + "/key.pem"
      try Files.write([], to: file, mode: 0o600)
      let user = SystemUser(name: "somebody", id: mine, groups: [])
      #expect(!user.may(.read, file))
      let bytes = list([(1, 6, nobody), (2, 4, mine), (4, 0, nobody), (0x10, 4, nobody), (0x20, 0, nobody)])
      try #require(setxattr(file, AccessList.attribute, bytes, bytes.count, 0) == 0)
      #expect(user.may(.read, file) && !user.may(.write, file))
      // With an empty mask the mode decides: the user is one of the others.
      let masked = list([(1, 6, nobody), (2, 4, mine), (4, 0, nobody), (0x10, 0, nobody), (0x20, 4, nobody)])
      try #require(setxattr(file, AccessList.attribute, masked, masked.count, 0) == 0)
      #expect(user.may(.read, file) && !user.may(.write, file))
    }
  }

  @Test func foldersThatCannotBeWritten() throws {
    try withScratchFolder { folder in
      try Files.write([], to: folder + "/file", mode: 0o600)
      let place = folder + "/file/backups"
      let wrong = try load(folder, "data: \(folder)/data\nbackup: {every: 1d, folder: \(place)}\n")
      let user = SystemUser.current
      #expect(
        conditions(nil, user).doubts(wrong) == [
          "backup.folder: \(user.name) cannot write to \(place): a part of the path is not a folder."
        ])
      let none = try load(folder, "data: \(folder)/data\nbackup: {folder: \(place)}\n")
      #expect(conditions(nil, user).doubts(none) == [])
      let derived = try load(folder, "data: \(folder)/data\nbackup: {every: 1d}\n")
      #expect(conditions(nil, user).doubts(derived) == [])
    }
  }

  @Test func theUnitLetsTheServerWriteToItsPlaces() throws {
    try withScratchFolder { folder in
      let file = folder + "/parley.yaml"
      #expect(try unit(file).letsWrite("/var/backups/parley"))
      #expect(try unit(file).letsWrite("/var/lib/parley/backups"))
      #expect(try !unit(file, "[Service]\nStateDirectory=\n").letsWrite("/var/lib/parley/backups"))
      #expect(try !unit(file).letsWrite("/var/backups/parleys"))
      #expect(try !unit(file, "[Service]\nReadWritePaths=\n").letsWrite("/var/backups/parley"))
      #expect(try unit(file, "[Service]\nReadWritePaths=/srv/data\n").letsWrite("/srv/data/more"))
      #expect(try unit(file, "[Service]\nProtectSystem=full\n").letsWrite("/srv"))

      // The user of the unit is this one, so that the folder itself is in order.
      let user = SystemUser.current
      let own = try unit(file, "[Service]\nUser=\(user.name)\n")
      let settings = try load(folder, "backup: {every: 1d, folder: \(folder)/backups}\n")
      let opening = "sudo systemctl edit parley and add ReadWritePaths=\(folder)/backups under [Service]."
      #expect(
        conditions(own, user).doubts(settings) == [
          "backup.folder: there is no folder \(folder)/backups; sudo install -d -o \(user.account) -m 0700 \(folder)/backups; "
            + opening
        ])
      try FileManager.default.createDirectory(atPath: folder + "/backups", withIntermediateDirectories: false)
      #expect(
        conditions(own, user).doubts(settings) == [
          "backup.folder: parley.service does not let the server write to \(folder)/backups; \(opening)"
        ])
      // One of another user needs both.
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder + "/backups")
      let closed = "backup.folder: nobody cannot write to \(folder)/backups: permission denied; "
      let ofNobody = try unit(file, "[Service]\nUser=nobody\n")
      #expect(
        conditions(ofNobody, root).doubts(settings) == [closed + "sudo chown nobody \(folder)/backups; \(opening)"])
      // The owner of a folder that cannot be reached makes no difference.
      let inner = try load(folder, "backup: {every: 1d, folder: \(folder)/backups/inner}\n")
      try FileManager.default.createDirectory(atPath: folder + "/backups/inner", withIntermediateDirectories: false)
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder + "/backups")
      let doubt = try #require(conditions(ofNobody, root).doubts(inner).first)
      #expect(
        doubt.contains(
          "nobody may not enter \(folder)/backups: name another folder, or sudo chmod o+x \(folder)/backups"))
    }
  }

  @Test func rootChecksForTheUserOfTheUnit() throws {
    try withScratchFolder { folder in
      try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: false)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder + "/data")
      for name in ["chain.pem", "key.pem"] { try Files.write([], to: "\(folder)/\(name)", mode: 0o600) }
      let settings = try load(
        folder, "data: \(folder)/data\ntls: {certificate: \(folder)/chain.pem, key: \(folder)/key.pem}\n")
      let own = try unit(folder + "/parley.yaml", "[Service]\nUser=nobody\nReadWritePaths=\(folder)\n")
      let group = try #require(SystemUser(named: "nobody")).groupAccount
      func unreadable(_ path: String) -> String {
        "\(path) cannot be read by nobody, the user of the server: sudo chgrp \(group) \(path) && sudo chmod g+r \(path)"
      }
      #expect(
        conditions(own, root).doubts(settings) == [
          "data: nobody cannot write to \(folder)/data: permission denied; sudo chown -R nobody \(folder)/data.",
          unreadable("\(folder)/chain.pem"), unreadable("\(folder)/key.pem"),
        ])
      for path in ["chain.pem", "key.pem", "data"] {
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: "\(folder)/\(path)")
      }
      #expect(conditions(own, root).doubts(settings) == [])
      // Another user sees too little to judge.
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder + "/key.pem")
      let other = SystemUser(name: "somebody", id: 4_711, groups: [])
      #expect(conditions(own, other).doubts(settings) == [])
    }
  }

  @Test func secretsThatEverybodyMayReadAreAWarning() throws {
    try withScratchFolder { folder in
      let (data, key) = (folder + "/data", folder + "/key.pem")
      try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
      for name in ["chain.pem", "key.pem"] { try Files.write([], to: "\(folder)/\(name)", mode: 0o644) }
      let settings = try load(folder, "data: \(data)\ntls: {certificate: \(folder)/chain.pem, key: \(key)}\n")
      func texts(_ keyMode: Int, _ dataMode: Int, folderMode: Int = 0o755) throws -> [String] {
        for (path, mode) in [(key, keyMode), (data, dataMode), (folder, folderMode)] {
          try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        return conditions(nil, root).openToAll(settings)
      }
      let ofKey = "Every user of this machine may read the private key \(key): sudo chmod o-rwx \(key)"
      let ofData = "Every user of this machine may enter the data folder \(data): sudo chmod o-rwx \(data)"
      #expect(try texts(0o644, 0o755) == [ofKey, ofData])
      #expect(try texts(0o640, 0o711) == [ofData])
      #expect(try texts(0o640, 0o750) == [])
      // Nobody else comes as far as that.
      #expect(try texts(0o644, 0o755, folderMode: 0o750) == [])
    }
  }

  /// Such as a copy of root. The folder itself is in order.
  @Test func filesInTheDataFolderThatTheServerCannotOpenAreNamed() throws {
    try withScratchFolder { folder in
      let data = folder + "/data"
      for path in [data, data + "/tls", data + "/blobs", data + "/blobs/00"] {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
      }
      let names = [
        "accounts.key", "blobs/00/file", "lock", "parley.db", "parley.db-wal", "tls/self-signed.key", "notes.txt",
      ]
      func setModes(_ mode: Int) throws {
        for name in names {
          try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: data + "/" + name)
        }
      }
      for name in names { try Files.write([], to: data + "/" + name, mode: 0o600) }
      let settings = try load(folder, "data: \(data)\n")
      let own = try unit(folder + "/parley.yaml", "[Service]\nUser=nobody\nReadWritePaths=\(folder)\n")
      let mending = "cannot be opened by nobody, the user of the server: sudo chown -R nobody \(data)"
      #expect(
        conditions(own, root).doubts(settings) == [
          "\(data)/accounts.key, \(data)/blobs/00/file, \(data)/lock and 3 more \(mending)"
        ])
      // A certificate of its own lies elsewhere, and the folder of the self-signed one is not opened.
      let certified = try Settings.load(
        SettingsArguments(
          file: folder + "/parley.yaml",
          values: [("tls.certificate", "/dev/null", "--set"), ("tls.key", "/dev/null", "--set")]), environment: [:],
        standardFiles: [])
      #expect(
        conditions(own, root).doubts(certified) == [
          "\(data)/accounts.key, \(data)/blobs/00/file, \(data)/lock and 2 more \(mending)"
        ])
      let nobody = try #require(SystemUser(named: "nobody"))
      let quick = DataFolder.closed(in: data, isWhole: false) { nobody.may($0, $1) }
      #expect(!quick.contains(data + "/blobs/00/file") && quick.count == 5)
      // Keys are only read; the database is written.
      try setModes(0o644)
      #expect(
        conditions(own, root).doubts(settings) == [
          "\(data)/lock, \(data)/parley.db, \(data)/parley.db-wal \(mending)"
        ])
      try setModes(0o666)
      #expect(conditions(own, root).doubts(settings) == [])
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: data + "/blobs/00")
      #expect(conditions(own, root).doubts(settings) == ["\(data)/blobs/00 \(mending)"])
    }
  }

  @Test func theDataFolderIsThatOfTheUnit() throws {
    try withScratchFolder { folder in
      for name in ["a", "b", "c"] {
        try FileManager.default.createDirectory(atPath: folder + "/" + name, withIntermediateDirectories: false)
      }
      try Files.write(Array("# Site\nPARLEY_DATA='\(folder)/b'\n".utf8), to: folder + "/default", mode: 0o644)
      let settings = try load(folder, "data: \(folder)/c\nbackup.every: 1d\n")
      func judged(_ more: String, _ settings: Settings) throws -> [String] {
        let own = try unit(folder + "/parley.yaml", "[Service]\nUser=nobody\nReadWritePaths=\(folder)\n" + more)
        return conditions(own, root).doubts(settings)
      }
      func refusals(_ name: String) -> [String] {
        let backups = "\(folder)/\(name)/backups"
        return [
          "data: nobody cannot write to \(folder)/\(name): permission denied; sudo chown -R nobody \(folder)/\(name).",
          "backup.folder: there is no folder \(backups); sudo install -d -o nobody -m 0700 \(backups).",
        ]
      }
      #expect(try judged("", settings) == refusals("c"))
      let variable = "Environment=\"PARLEY_DATA=\(folder)/a\" OTHER=1\n"
      #expect(try judged(variable, settings) == refusals("a"))
      // Files decide before variables, and what the check is called with before both.
      let file = "EnvironmentFile=-\(folder)/none\nEnvironmentFile=\(folder)/default\n"
      #expect(try judged(file + variable, settings) == refusals("b"))
      #expect(try judged(file + "EnvironmentFile=\n" + variable, settings) == refusals("a"))
      let called = try Settings.load(
        SettingsArguments(file: folder + "/parley.yaml", values: [("data", folder + "/c", "--data")]), environment: [:],
        standardFiles: [])
      #expect(try judged(file, called) == refusals("c"))
    }
  }

  /// A command is about the server that the unit starts: its folder, its ports. What the command has itself decides.
  @Test func commandsHaveTheVariablesOfTheUnit() throws {
    try withScratchFolder { folder in
      let settings = try load(folder, "data: \(folder)/c\n")
      let file = folder + "/default"
      try Files.write(
        Array("PARLEY_HTTP_PORT=18080\nPARLEY_CONFIG=/other.yaml\nLANG=C\n".utf8), to: file, mode: 0o644)
      let own = try unit(
        folder + "/parley.yaml",
        "[Service]\nEnvironment=PARLEY_DATA=\(folder)/a PARLEY_DOMAIN=a.example\nEnvironmentFile=\(file)\n")
      let variables = ["PARLEY_DOMAIN": "b.example", "PATH": "/bin"]
      let both = variables.merging(["PARLEY_DATA": folder + "/a", "PARLEY_HTTP_PORT": "18080"]) { $1 }
      #expect(Settings.variables(variables, file: folder + "/./parley.yaml", of: own) == both)
      #expect(Settings.variables(variables, file: "/etc/parley.yaml", of: own) == variables)
      #expect(Settings.variables(variables, file: nil, of: own) == variables)
      #expect(Settings.variables(variables, file: folder + "/parley.yaml", of: nil) == variables)
      #expect(own.runs("/usr/local/bin/parley") && !own.runs("/proc/self/exe"))
      #expect(try unit("", "ExecStart=\nExecStart=-@/proc/self/exe parley serve\n").runs("/proc/self/exe"))

      // The folder of the file is not silently another one.
      let replaced =
        "data is \(folder)/c at \(folder)/parley.yaml:1, but PARLEY_DATA decides: the data folder is \(folder)/a. Let both "
        + "name one folder, or remove one of them."
      func shortcomings(_ environment: [String: String]) throws -> [String] {
        try Settings.load(
          SettingsArguments(file: folder + "/parley.yaml"), environment: environment, standardFiles: []
        ).shortcomings
      }
      #expect(try shortcomings(both).contains(replaced))
      #expect(try shortcomings(["PARLEY_DATA": folder + "/c"]) == settings.shortcomings)
      #expect(!settings.shortcomings.contains { $0.contains("PARLEY_DATA") })
    }
  }

  /// A value that is read otherwise than systemd reads it would be another configuration than the server's.
  @Test func variablesOfTheUnitAreReadAsSystemdReadsThem() throws {
    try withScratchFolder { folder in
      let lines = [
        "; PARLEY_A=a", "#PARLEY_B=b", #"PARLEY_C = "a \"b\" c" "#, #"PARLEY_D='a\b'"#, "PARLEY_E=it's \"e\"",
        #"PARLEY_F=a\\b"#, "PARLEY_G=", "PARLEY_H",
      ]
      try Files.write(Array(lines.joined(separator: "\n").utf8), to: folder + "/default", mode: 0o644)
      let unit = ServiceUnit([
        #"Environment="PARLEY_I=a@x, b@x" 'PARLEY_J="j"'  PARLEY_K="k k" PARLEY_L=%S/l PARLEY_M=5%%"#,
        "EnvironmentFile=\(folder)/default",
      ])
      #expect(
        unit.variables == [
          "PARLEY_C": #"a "b" c"#, "PARLEY_D": #"a\b"#, "PARLEY_E": "it's \"e\"", "PARLEY_F": #"a\b"#, "PARLEY_G": "",
          "PARLEY_I": "a@x, b@x", "PARLEY_J": #""j""#, "PARLEY_K": "k k", "PARLEY_M": "5%",
        ])
    }
  }

  /// systemd gives the whole folder to the unit's user if it has another owner or group, and else leaves it as it is.
  @Test func aStateDirectoryOfAnotherOwnerIsInOrder() throws {
    try withScratchFolder { folder in
      let place = "/var/lib/../..\(folder)"
      let own = try unit(folder + "/parley.yaml", "[Service]\nStateDirectory=../..\(folder) ../..\(folder)/none\n")
      let group = try #require(Files.status(folder)).group
      let owner = try #require(SystemUser(named: SystemUser.current.name, group: "\(group)"))
      let stranger = try #require(SystemUser(named: "nobody"))
      let ofAnotherGroup = try #require(SystemUser(named: owner.name, group: "4711"))
      #expect(!own.makes(place, for: owner))
      #expect(own.makes(place, for: stranger) && own.makes(place, for: ofAnotherGroup))
      #expect(own.makes(place + "/none", for: owner) && !own.makes(place + "/other", for: owner))
    }
  }

  /// What the server of the unit will be refused is an error of the check; without a unit that is known it is a guess.
  @Test func whatIsKnownOfTheUnitIsCertain() throws {
    try withScratchFolder { folder in
      let settings = try load(folder, "http.port: 80\n")
      func isCertain(_ file: String, _ more: String = "") throws -> Bool {
        conditions(try unit(folder + file, "[Service]\n" + more), root).isCertain(settings)
      }
      #expect(try isCertain("/parley.yaml"))
      #expect(try !isCertain("/other.yaml"))
      #expect(!conditions(nil, root).isCertain(settings))
      for more in [
        "ExecStartPre=+/bin/chown -R parley /var/lib/parley\n", "BindPaths=/srv/data:/var/lib/parley\n",
        "ExecStart=\nExecStart=+/usr/bin/parley serve --config \(folder)/parley.yaml\n",
        "AmbientCapabilities=CAP_DAC_OVERRIDE\n",
      ] {
        #expect(try !isCertain("/parley.yaml", more), "\(more)")
      }
      #expect(try isCertain("/parley.yaml", "BindPaths=\n"))
    }
  }

  @Test func withoutAUnitRootChecksForTheOwnerOfTheData() throws {
    try withScratchFolder { folder in
      let (data, key) = (folder + "/data", folder + "/key.pem")
      try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
      for name in ["chain.pem", "key.pem"] { try Files.write([], to: "\(folder)/\(name)", mode: 0o644) }
      let settings = try load(folder, "data: \(data)\ntls: {certificate: \(folder)/chain.pem, key: \(key)}\n")
      // Whoever runs the tests is the owner, and root gives the folder away.
      if SystemUser.current.id == 0 { try #require(chown(data, 65_534, 65_534) == 0) }
      let owner = try #require(SystemUser.owner(of: data))
      #expect(owner.id != 0)
      #expect(conditions(nil, root).doubts(settings) == [])
      try FileManager.default.setAttributes([.posixPermissions: 0o000], ofItemAtPath: key)
      #expect(
        conditions(nil, root).doubts(settings) == [
          "\(key) cannot be read by \(owner.name), the user of the server: "
            + "sudo chgrp \(owner.groupAccount) \(key) && sudo chmod g+r \(key)"
        ])
    }
  }

  @Test func aUserMayWhatTheModesAllow() throws {
    try withScratchFolder { folder in
      let file = folder + "/inner/file"
      try FileManager.default.createDirectory(atPath: folder + "/inner", withIntermediateDirectories: false)
      try Files.write([], to: file, mode: 0o600)
      func modes(_ outer: Int, _ inner: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        try FileManager.default.setAttributes([.posixPermissions: outer], ofItemAtPath: folder + "/inner")
        try FileManager.default.setAttributes([.posixPermissions: inner], ofItemAtPath: file)
      }
      let member = SystemUser(name: "member", id: 4_711, groups: SystemUser.current.groups)
      let stranger = SystemUser(name: "stranger", id: 4_712, groups: [])
      try modes(0o750, 0o640)
      #expect(member.may(.read, file) && !member.may(.write, file) && !stranger.may(.read, file))
      try modes(0o700, 0o644)
      #expect(!member.may(.read, file) && !stranger.may(.read, file) && root.may(.read, file))
      try modes(0o711, 0o606)
      #expect(!member.may(.read, file) && stranger.may(.write, file))
    }
  }

  /// Each connection is an open file, and a quarter of the files is kept for the store and for files, with a least and a most.
  @Test func theLimitOfOpenFilesBoundsTheConnections() {
    func numbers(_ files: Int?) -> [Int] {
      let bounds = ConnectionBounds(files: files)
      #expect(bounds.links == bounds.withoutLogin)
      return [bounds.kept, bounds.all, bounds.withoutLogin, bounds.ofNetwork]
    }
    #expect(numbers(32) == [64, 1, 8, 1])
    #expect(numbers(128) == [64, 64, 32, 64])
    #expect(numbers(256) == [64, 192, 64, 128])
    #expect(numbers(1_024) == [256, 768, 256, 384])
    // 2,000 people with three devices each.
    #expect(numbers(16_384) == [4_096, 12_288, 4_096, 6_144])
    #expect(numbers(262_144) == [4_096, 258_048, 65_536, 129_024])
    #expect(numbers(nil) == [4_096, Int.max - 4_096, Int.max / 4, (Int.max - 4_096) / 2])
    #expect(ConnectionBounds(files: 1_024).awaitingHeaders == 128)
    #expect(ConnectionBounds(files: 4_096).doubt == nil)
    #expect(ConnectionBounds(files: 4_095).doubt?.contains("4095, which allows 3072 connections only") == true)
  }

  @Test func aLimitOfOpenFilesThatIsLowIsAWarning() throws {
    try withScratchFolder { folder in
      let settings = try load(folder, "")
      var checked = conditions(nil, SystemUser.current)
      #expect(checked.capacity(settings) == nil)
      checked.files = 1_024
      #expect(checked.capacity(settings) == "The limit of open files is 1024, which allows 768 connections.")
      #expect(checked.shortage(settings)?.contains("LimitNOFILE") == true)
      // That of the unit counts, if it starts the server with this configuration.
      checked.unit = try unit(folder + "/parley.yaml")
      #expect(checked.shortage(settings) == nil)
      #expect(checked.capacity(settings) == "The limit of open files is 262144, which allows 258048 connections.")
      checked.unit = try unit(folder + "/parley.yaml", "[Service]\nLimitNOFILE=512:2048\n")
      #expect(checked.shortage(settings)?.contains("is 2048, which allows 1536 connections only") == true)
      checked.unit = try unit("/etc/parley/parley.yaml")
      #expect(checked.shortage(settings)?.contains("is 1024") == true)
    }
  }

  /// The configuration of a new package leaves the domain out.
  @Test func anInstalledServerOfLocalhostOnlyIsAWarning() throws {
    try withScratchFolder { folder in
      let settings = try load(folder, "")
      let file = folder + "/parley.yaml"
      let installed = conditions(try unit(file), SystemUser.current)
      #expect(installed.localhostOnly(settings)?.hasPrefix("domain is localhost: ") == true)
      #expect(installed.localhostOnly(settings)?.contains("Set domain in \(file) before") == true)
      // Who develops an app needs no other domain.
      #expect(conditions(nil, SystemUser.current).localhostOnly(settings) == nil)
      #expect(conditions(try unit("/etc/parley/parley.yaml"), SystemUser.current).localhostOnly(settings) == nil)
      #expect(installed.localhostOnly(try load(folder, "domain: example.org\n")) == nil)
      #expect(installed.localhostOnly(try load(folder, "domains: [example.org]\n")) == nil)
    }
  }

  /// In a folder with a `parley.yaml`, such as the clone, that file is checked and not the one of the server.
  @Test func rootIsToldThatTheFileOfTheUnitWasNotChecked() throws {
    try withScratchFolder { folder in
      let settings = try load(folder, "")
      func remark(_ file: String, _ more: String, _ user: SystemUser) throws -> String? {
        conditions(try unit(file, more), user).otherFile(settings)
      }
      let own = "[Service]\nExecStart=\nExecStart=/proc/self/exe serve --config /etc/parley/server.yaml\n"
      #expect(
        try remark("/etc/parley/parley.yaml", own, root)
          == "parley.service reads /etc/parley/server.yaml, which was not checked: parley check --config "
          + "/etc/parley/server.yaml")
      let same = own.replacing("/etc/parley/server.yaml", with: folder + "/parley.yaml")
      #expect(try remark("/etc/parley/parley.yaml", same, root) == nil)
      // Neither who builds a program of their own nor a user is about to start the installed server.
      #expect(try remark("/etc/parley/parley.yaml", "", root) == nil)
      #expect(try remark("/etc/parley/parley.yaml", own, SystemUser(name: "somebody", id: 1, groups: [])) == nil)
      #expect(conditions(nil, root).otherFile(settings) == nil)
    }
  }

  @Test func aSecretWithoutTheURLThatItIsForIsAWarning() throws {
    try withScratchFolder { (folder: String) throws in
      func texts(_ text: String) throws -> [String] {
        try load(folder, text).shortcomings.filter { $0.contains(".secret is set and ") }
      }
      let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
      #expect(
        try texts("before_send.secret: \(secret)\n") == [
          "before_send.secret is set and before_send.url is not: no message is checked."
        ])
      #expect(
        try texts("delivery.secret: \(secret)\n") == [
          "delivery.secret is set and delivery.url is not: no code is delivered by a backend."
        ])
      #expect(try texts("before_send: {url: 'https://backend.example.org/hook', secret: \(secret)}\n") == [])
      #expect(try texts("") == [])
    }
  }

  @Test func boundsByNetworkThatAreOffAreAWarning() throws {
    try withScratchFolder { folder in
      let text = "limits.by_network is false"
      let (off, standard) = (try load(folder, "limits.by_network: false\n"), try load(folder, ""))
      #expect(off.shortcomings.contains { $0.hasPrefix(text) })
      #expect(!standard.shortcomings.contains { $0.hasPrefix(text) })
    }
  }

  @Test func whatLetsProgramsRegisterIsAWarning() throws {
    try withScratchFolder { folder in
      func texts(_ text: String) throws -> [String] {
        try load(folder, text).shortcomings.filter { $0.hasPrefix("registration is true") }
      }
      #expect(try texts("") == [])
      #expect(try texts("registration: true\n") == [])
      #expect(try texts("signup.proof: false\n") == [])
      let open = try texts("registration: true\nsignup.proof: false\n")
      #expect(open.count == 1 && open.first?.contains("signup.proof is false") == true)
      let pageless = try texts("registration: true\nweb.client: false\n")
      #expect(pageless.count == 1 && pageless.first?.contains("no sign-up page") == true)
      let unbounded = try texts("registration: true\nlimits.by_network: false\n")
      #expect(unbounded.count == 1 && unbounded.first?.contains("limits.by_network is false") == true)
      #expect(unbounded.first?.hasSuffix("the rate of attempts and the proof of work.") == true)
      let both = try texts("registration: true\nsignup.proof: false\nlimits.by_network: false\n")
      #expect(both.count == 2 && both.last?.hasSuffix("but the rate of attempts.") == true)
    }
  }

  @Test func aMachineWithoutIPv6ListensOnIPv4() throws {
    try withScratchFolder { folder in
      let settings = try load(folder, "domain: a.example\nxmpp.host: '::1'\nhttp.port: 0\nfederation.enabled: true\n")
      #expect(settings.addressesWithoutIPv6(true) == [])
      #expect(
        settings.addressesWithoutIPv6(false) == [
          "This machine has no IPv6: the ports of :: are opened at 0.0.0.0 "
            + "(https.port, federation.port, federation.tls_port).",
          "xmpp.port cannot be opened at ::1: this machine has no IPv6.",
          "xmpp.tls_port cannot be opened at ::1: this machine has no IPv6.",
        ])
    }
  }

  @Test func aCertificateIsWantedForTheNamesByWhichItIsAskedFor() throws {
    func names(_ values: [String: String]) throws -> [[String]] {
      let domains = ["domain": "a.example", "domains": "b.example"]
      let settings = try testSettings("/nowhere", domains.merging(values) { $1 })
      return settings.domains.map { settings.certified($0) }
    }
    #expect(try names([:]) == [["a.example"], ["b.example"]])
    #expect(
      try names(["http.url": "https://chat.a.example:8443/path"]) == [["a.example", "chat.a.example"], ["b.example"]])
    // Another port is that of a proxy, which has a certificate of its own.
    #expect(try names(["http.url": "https://chat.a.example"]) == [["a.example"], ["b.example"]])
    #expect(try names(["http.url": "https://b.example:8443"]) == [["a.example"], ["b.example"]])
    #expect(try names(["http.url": "https://:"]) == [["a.example"], ["b.example"]])
    // Other servers have no business with rooms that are closed to them.
    let closed = [
      "federation.enabled": "true", "federation.rooms": "off", "pubsub.enabled": "false", "uploads.bytes": "0",
    ]
    #expect(try names(closed) == [["a.example"], ["b.example"]])
    #expect(
      try names(["federation.enabled": "true", "uploads.bytes": "0"]) == [
        ["a.example", "conference.a.example", "pubsub.a.example"],
        ["b.example", "conference.b.example", "pubsub.b.example"],
      ])
  }
}

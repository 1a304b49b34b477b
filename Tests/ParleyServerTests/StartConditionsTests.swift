import Basics
import Foundation
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

  /// Returns the packaged unit, for another configuration file.
  private func unit(_ file: String, _ more: String = "") throws -> ServiceUnit {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("conf/parley.service").path
    let text = String(decoding: try Files.read(path, bytesMax: 65_536), as: UTF8.self)
    return ServiceUnit([text.replacing("/etc/parley/parley.yaml", with: file), more])
  }

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
          "Ports below 1024 need CAP_NET_BIND_SERVICE, which somebody does not have: 80 (http.port), 443 (https.port)."
        ])
      refused.firstFreePort = 80
      #expect(refused.doubts(settings) == [])

      // The unit gives it to the server, or takes it away, whoever runs the check.
      refused.firstFreePort = 1_024
      refused.unit = try unit(folder + "/parley.yaml")
      #expect(refused.doubts(settings) == [])
      refused.unit = try unit(folder + "/parley.yaml", "[Service]\nAmbientCapabilities=\n")
      #expect(refused.doubts(settings).first?.contains("which parley.service does not have: 80") == true)
      // It says nothing of a server with another configuration.
      refused.unit = try unit("/etc/parley/parley.yaml")
      #expect(refused.doubts(settings).first?.contains("which somebody does not have: 80") == true)
    }
    #expect(StartConditions.holdsNetBindService("CapPrm:\t0\nCapEff:\t0000000000000400\n"))
    #expect(!StartConditions.holdsNetBindService("CapPrm:\t400\nCapEff:\t0000000000000200\n"))
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
      #expect(try !unit(file).letsWrite("/var/backups/parleys"))
      #expect(try !unit(file, "[Service]\nReadWritePaths=\n").letsWrite("/var/backups/parley"))
      #expect(try unit(file, "[Service]\nReadWritePaths=/srv/data\n").letsWrite("/srv/data/more"))
      #expect(try unit(file, "[Service]\nProtectSystem=full\n").letsWrite("/srv"))

      // The user of the unit is this one, so that the folder itself is in order.
      let user = SystemUser.current
      let own = try unit(file, "[Service]\nUser=\(user.name)\n")
      let settings = try load(folder, "backup: {every: 1d, folder: \(folder)/backups}\n")
      #expect(
        conditions(own, user).doubts(settings) == [
          "backup.folder: parley.service does not let the server write to \(folder)/backups: "
            + "add ReadWritePaths=\(folder)/backups to it."
        ])
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
      #expect(
        conditions(own, root).doubts(settings) == [
          "data: nobody cannot write to \(folder)/data: permission denied.",
          "\(folder)/chain.pem cannot be read by nobody, the user of the server.",
          "\(folder)/key.pem cannot be read by nobody, the user of the server.",
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
    #expect(
      try names(["federation.enabled": "true", "uploads.bytes": "0"]) == [
        ["a.example", "conference.a.example", "pubsub.a.example"],
        ["b.example", "conference.b.example", "pubsub.b.example"],
      ])
  }
}

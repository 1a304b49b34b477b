import Basics
import Foundation
import NIOCore
import NIOPosix
import ServerConfiguration
import ServerFixtures
import Testing

@testable import ParleyServer

/// `parley serve` as a process: start, faults, commands beside it, stop.
@Suite struct ServeTests {
  /// A server that is ready, and what it was started with.
  private final class Served: Sendable {
    let folder: String
    let environment: [String: String]
    private let process: Process
    private let output: FileHandle
    private let errors: FileHandle

    init(in folder: String, _ more: [String: String] = [:], _ arguments: [String] = []) async throws {
      self.folder = folder
      let ports = try await FreePorts.take(5)
      environment = [
        "PARLEY_XMPP_PORT": "\(ports[0])", "PARLEY_XMPP_TLS_PORT": "\(ports[1])", "PARLEY_HTTP_PORT": "\(ports[2])",
        "PARLEY_HTTPS_PORT": "\(ports[3])", "PARLEY_METRICS_PORT": "\(ports[4])",
      ].merging(more) { $1 }
      let (process, output, errors) = try Command.start(["serve"] + arguments, in: folder, environment: environment)
      self.process = process
      self.output = output.fileHandleForReading
      self.errors = errors.fileHandleForReading
    }

    /// Standard error until the server is ready, or to its end.
    func untilReady() async throws -> String {
      let errors = errors
      return try await NIOThreadPool.singleton.runIfActive {
        var text = ""
        while !text.contains(" ready ") {
          let piece = errors.availableData
          if piece.isEmpty { break }
          text += String(decoding: piece, as: UTF8.self)
        }
        return text
      }
    }

    /// Returns the next output on standard error.
    func more() async throws -> String {
      let errors = errors
      return try await NIOThreadPool.singleton.runIfActive {
        let piece = errors.availableData
        if piece.isEmpty { throw StartupError("the server has ended") }
        return String(decoding: piece, as: UTF8.self)
      }
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the end.
    func end() async throws -> (status: Int32, output: String, errors: String) {
      let (process, output, errors) = (process, output, errors)
      return try await NIOThreadPool.singleton.runIfActive {
        let text = String(decoding: errors.readDataToEndOfFile(), as: UTF8.self)
        let greeting = String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, greeting, text)
      }
    }
  }

  @Test func firstStartCommandsBesideItAndAGracefulStop() async throws {
    try await withScratchFolder { folder in
      let server = try await Served(in: folder)
      #expect(try await server.untilReady().contains(" ready "))
      let health = try await Command.run("health", "--json", in: folder, environment: server.environment)
      #expect(health.status == 0)
      #expect(health.output.contains("\"users\" : 2"))
      let added = try await Command.run(
        "user", "add", "alice@localhost", "--password-stdin", in: folder, environment: server.environment,
        input: "a password\n")
      #expect(added.output == "Added alice@localhost.\n")
      let listed = try await Command.run("user", "list", in: folder, environment: server.environment)
      #expect(listed.output.split(separator: "\n").count == 4)

      // At another socket than the server's.
      let elsewhere = try await Command.run(
        "health", "--set", "admin.socket=\(folder)/none.sock", in: folder, environment: server.environment)
      #expect(elsewhere.status == 1 && elsewhere.lines.count == 1)
      #expect(elsewhere.lines[0].contains(" runs on the data folder \(folder)/data, and has another admin.socket, is "))

      let second = try await Command.run("serve", in: folder, environment: server.environment)
      #expect(second.status == 1)
      #expect(second.lines.count == 1)
      #expect(second.lines[0].hasPrefix("parley: the data folder \(folder)/data is in use by another process ("))

      server.signal(SIGTERM)
      let end = try await server.end()
      #expect(end.status == 0)
      #expect(end.output.contains("juliet@localhost"))
      #expect(
        end.output.contains("curl -s http://127.0.0.1:\(server.environment["PARLEY_HTTP_PORT"] ?? "")/v1/sessions"))
      #expect(!FileManager.default.fileExists(atPath: folder + "/data/admin.sock"))

      // The passwords are told once.
      let again = try await Served(in: folder)
      #expect(try await again.untilReady().contains(" ready "))
      again.signal(SIGINT)
      #expect(try await again.end().output == "")
    }
  }

  @Test func aKilledServerLeavesNothingInTheWay() async throws {
    try await withScratchFolder { folder in
      let server = try await Served(in: folder)
      #expect(try await server.untilReady().contains(" ready "))
      server.signal(SIGKILL)
      _ = try await server.end()
      #expect(FileManager.default.fileExists(atPath: folder + "/data/admin.sock"))
      let health = try await Command.run("health", in: folder)
      #expect(health.lines[0].contains("/data/admin.sock: no server is running on the data folder \(folder)/data; "))
      let listed = try await Command.run("user", "list", in: folder)
      #expect(listed.status == 0)
      let again = try await Served(in: folder)
      #expect(try await again.untilReady().contains(" ready "))
      again.signal(SIGTERM)
      #expect(try await again.end().status == 0)
    }
  }

  @Test func aPortInUseIsOneLineAndSpoilsNoFirstStart() async throws {
    try await withScratchFolder { folder in
      let taken = try await FreePorts.hold()
      let port = taken.localAddress?.port ?? 0
      let server = try await Served(in: folder, ["PARLEY_HTTP_PORT": "\(port)"])
      let end = try await server.end()
      try await taken.close()
      #expect(end.status == 1)
      #expect(end.output == "")
      let told = end.errors.split(separator: "\n").filter { $0.hasPrefix("parley: ") }
      let reason = "the address is in use; sudo ss -ltnp shows by which process"
      #expect(told == ["parley: port \(port) of 127.0.0.1 (http.port) cannot be opened: \(reason)"])

      // The users are made by the start that works.
      let again = try await Served(in: folder)
      #expect(try await again.untilReady().contains(" ready "))
      again.signal(SIGTERM)
      #expect(try await again.end().output.contains("juliet@localhost"))
    }
  }

  @Test func aHangUpReadsTheConfigurationAgain() async throws {
    try await withScratchFolder { folder in
      let file = folder + "/parley.yaml"
      try Files.write(Array("log.level: notice\n".utf8), to: file, mode: 0o600)
      let server = try await Served(in: folder, [:], ["--no-demo"])
      #expect(try await server.untilReady().contains(" ready "))
      try Files.write(Array("log.level: info\nregistration: true\n".utf8), to: file, mode: 0o600)
      server.signal(SIGHUP)
      var text = ""
      while !text.contains("reloaded") { text += try await server.more() }
      try Files.write(Array("log.level: loud\n".utf8), to: file, mode: 0o600)
      server.signal(SIGHUP)
      while !text.contains("not reloaded") { text += try await server.more() }
      server.signal(SIGTERM)
      let end = try await server.end()
      #expect(end.status == 0)
      #expect(end.output == "")
      #expect(text.contains("a changed key needs a restart key=registration"))
      #expect(text.contains("reloaded log.level=info"))
      #expect(text.contains("not reloaded: log.level = loud"))
    }
  }
}

/// Ports without a listener at the moment.
enum FreePorts {
  static func hold() async throws -> any Channel {
    try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0).get()
  }

  /// Held all together, so that they differ.
  static func take(_ count: Int) async throws -> [Int] {
    var channels: [any Channel] = []
    for _ in 0..<count { channels.append(try await hold()) }
    let ports = channels.compactMap { $0.localAddress?.port }
    for channel in channels { try await channel.close() }
    return ports
  }
}

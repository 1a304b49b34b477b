import ParleyTesting
import Testing

/// Every play of `Tests/Plays`, each on a server and data of its own. Two at a time, since a play often waits: forty servers at once on
/// two cores would test the machine, and one after the other takes longer than all other tests together.
@Suite struct PlayTests {
  @Test(.serialized, arguments: Playbill.half(0)) func play(_ name: String) async throws { try await perform(name) }

  @Test(.serialized, arguments: Playbill.half(1)) func playBeside(_ name: String) async throws {
    try await perform(name)
  }

  private func perform(_ name: String) async throws {
    let play = try Playbill.play(name)
    if play.needsProcess {
      let server = try await ServerProcess.start(Playbill.binary, play.settings)
      await perform(play, on: server) { server.log }
      try await server.stop()
    } else {
      let server = try await TestServer.start(play.settings)
      await perform(play, on: server) { server.log }
      try await server.stop()
    }
  }

  private func perform(_ play: Play, on server: any PlayServer, log: () -> String) async {
    do { try await PlayRunner(play, on: server).run() } catch {
      Issue.record("\(error)\nThe server's log:\n\(log())")
    }
  }
}

import Dialogs
import DialogsFixtures
import Testing

@Suite struct HealthTests {
  /// Returns the code and the kind of the problem that a check finds.
  private func found(_ check: () async throws(Problem) -> Void) async -> String? {
    do throws(Problem) { try await check() } catch { return "\(error.kind) \(error.code)" }
    return nil
  }

  @Test func aServerIsReadyBetweenItsStartAndItsStop() async throws {
    let stage = try Stage()
    let parley = stage.parley
    let health = Health(parley)
    #expect(await found(health.checkReady) == "overloaded starting")
    // A supervisor would restart it again and again.
    #expect(await found(health.checkWorking) == nil)
    parley.setPhase(.ready)
    #expect(await found(health.checkReady) == nil)
    parley.setPhase(.stopping)
    #expect(await found(health.checkReady) == "overloaded stopping")
    #expect(await found(health.checkWorking) == nil)
  }

  @Test func aServerWithoutItsStorageDoesNotWork() async throws {
    let stage = try Stage()
    stage.parley.setPhase(.ready)
    try stage.store.close()
    #expect(await found(Health(stage.parley).checkWorking) == "overloaded storage-failed")
    #expect(await found(Health(stage.parley).checkReady) == "overloaded storage-failed")
  }
}

import Simulation
import Testing

/// The core against a model of it (docs/architecture.md, "The simulation"): a few seconds of what `make simulate` does for as
/// long as asked.
@Suite struct SimulationTests {
  @Test func theSeedsThatAreAlwaysTried() async throws { try await simulate(from: 1) }

  @Test func seedsThatWereNeverTried() async throws { try await simulate(from: .random(in: 0 ... .max >> 1)) }

  private func simulate(from seed: UInt64) async throws {
    print("simulation: from seed \(seed)")
    do {
      let totals = try await Simulation.run(from: seed, for: .seconds(3), threads: 1)
      #expect(totals.posts > 0)
    } catch let failure as Simulation.Failure {
      Issue.record("\(failure)")
    }
  }
}

import Simulation
import Testing

/// The core against a model of it (docs/architecture.md, "The simulation"): a few seconds of what `make simulate` does for as
/// long as asked.
@Suite struct SimulationTests {
  @Test func theSeedsThatAreAlwaysTried() async throws { try await simulate(from: 1) }

  @Test func seedsThatWereNeverTried() async throws { try await simulate(from: .random(in: 0 ... .max >> 1)) }

  /// The first entry of the message has gone, so each of these steps is about the entry of the repeat.
  @Test(
    arguments: [
      .expire(through: 2, limit: 2), .mark(3, .displayed, 2), .hide(3, 2), .age(3, through: 2),
      .change(3, .app, .react, of: 2, message: 3), .forward(3, 2, to: .user(1), message: 3),
    ] as [Action])
  func aStepIsAboutWhatWasPostedAgain(_ step: Action) async throws {
    let report = try await Run.play([
      .say(1, .app, .user(3), message: 2), .commit, .expire(through: 2, limit: 6), .again(message: 2), step,
    ])
    #expect(report.violation == nil)
  }

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

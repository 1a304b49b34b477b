import Foundation
import Simulation
import Synchronization

// The simulation for as long as asked: `simulate [seconds [seed [count]]]`. Without a seed it begins at a random one.

let arguments = CommandLine.arguments.dropFirst().map { Int($0) ?? 0 }
let seconds = arguments.first ?? 60
let seed = arguments.dropFirst().first.map { UInt64($0) } ?? .random(in: 0..<1 << 32)
let count = arguments.dropFirst(2).first ?? .max
let start = ContinuousClock.now
let shown = Mutex(start)
let isTerminal = isatty(1) == 1
let interval: Duration = isTerminal ? .milliseconds(500) : .seconds(60)

@Sendable func line(_ totals: Simulation.Totals) -> String {
  let elapsed = max(1, Int((ContinuousClock.now - start) / .seconds(1)))
  return
    "\(elapsed) s: \(totals.seeds) seeds, \(totals.conversations) conversations (\(totals.conversations / elapsed)/s), "
    + "\(totals.posts) posts in \(totals.batches) batches (\(totals.posts / elapsed) posts/s)"
}

print("from seed \(seed)")
fflush(nil)
do {
  let totals = try await Simulation.run(
    from: seed, count: count, for: .seconds(seconds), threads: ProcessInfo.processInfo.activeProcessorCount
  ) { totals in
    let isDue = shown.withLock { shown in
      guard ContinuousClock.now - shown > interval else { return false }
      shown = .now
      return true
    }
    if isDue {
      print(isTerminal ? "\r\(line(totals))" : line(totals), terminator: isTerminal ? "" : "\n")
      fflush(nil)
    }
  }
  print(isTerminal ? "\r\(line(totals))" : line(totals))
} catch let failure as Simulation.Failure {
  print("\n\(failure)\nTry it again with: make simulate SEED=\(failure.first)")
  exit(1)
}

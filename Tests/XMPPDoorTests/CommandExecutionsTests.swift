import Basics
import Testing

@testable import XMPPDoor

/// XEP-0050 3.3: the lifetime of a command of several stages.
@Suite struct CommandExecutionsTests {
  private typealias Executions = CommandExecutions<Int>
  private let now = Timestamp(milliseconds: 1_000_000)

  private func begun(_ ids: String..., at time: Timestamp) -> Executions {
    var executions = Executions()
    for id in ids { executions.put(.init(node: "n", stages: [1]), as: id, now: time) }
    return executions
  }

  @Test func anExecutionIsTakenOnce() {
    var executions = begun("a", "b", at: now)
    #expect(executions.take("a", of: "other", now: now) == nil)
    #expect(executions.take("c", of: "n", now: now) == nil)
    #expect(executions.take("a", of: "n", now: now)?.stages == [1])
    #expect(executions.take("a", of: "n", now: now) == nil)
    #expect(executions.take("b", of: "n", now: now)?.stages == [1])
  }

  @Test func aStageDoesNotWaitForEver() {
    var executions = begun("a", at: now)
    executions.put(.init(node: "n", stages: [2]), as: "b", now: now + .seconds(1))
    let end = now + DoorLimits.commandStage
    #expect(executions.take("a", of: "n", now: end) == nil)
    #expect(executions.take("b", of: "n", now: end)?.stages == [2])
  }

  @Test func theOldestOfTooManyIsForgotten() {
    var executions = Executions()
    for id in 0...DoorLimits.commandsWaitingMax {
      executions.put(.init(node: "n", stages: [id]), as: "\(id)", now: now)
    }
    #expect(executions.take("0", of: "n", now: now) == nil)
    for id in 1...DoorLimits.commandsWaitingMax {
      #expect(executions.take("\(id)", of: "n", now: now)?.stages == [id])
    }
  }
}

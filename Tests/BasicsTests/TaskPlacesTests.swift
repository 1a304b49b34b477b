import Synchronization
import Testing

@testable import Basics

@Suite struct TaskPlacesTests {
  /// Runs what tasks have to do on the thread of the test, so that the order is that of the test.
  private final class Steps: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
    }

    func run() {
      while let job = jobs.withLock({ jobs -> UnownedJob? in jobs.isEmpty ? nil : jobs.removeFirst() }) {
        job.runSynchronously(on: asUnownedTaskExecutor())
      }
    }
  }

  private final class Record: Sendable {
    private let taken = Mutex<[Int]>([])
    var tasks: [Int] { taken.withLock { $0 } }
    func add(_ task: Int) { taken.withLock { $0.append(task) } }
  }

  @Test func placesAreTakenInTheOrderOfTheCalls() {
    let (steps, places, record) = (Steps(), TaskPlaces(2), Record())
    func begin(_ task: Int) {
      _ = Task(executorPreference: steps) {
        await places.take()
        record.add(task)
      }
    }
    func giveBack() -> [Int] {
      places.giveBack()
      steps.run()
      return record.tasks
    }
    for task in 1...4 { begin(task) }
    steps.run()
    #expect(record.tasks == [1, 2])
    #expect(giveBack() == [1, 2, 3])
    // A newcomer is behind the one that waits.
    begin(5)
    steps.run()
    #expect(giveBack() == [1, 2, 3, 4])
    #expect(giveBack() == [1, 2, 3, 4, 5])
    // Both places are given back, and serve the next two.
    #expect(giveBack() == [1, 2, 3, 4, 5])
    #expect(giveBack() == [1, 2, 3, 4, 5])
    for task in 6...8 { begin(task) }
    steps.run()
    #expect(record.tasks == [1, 2, 3, 4, 5, 6, 7])
    #expect(giveBack() == [1, 2, 3, 4, 5, 6, 7, 8])
    #expect(giveBack().count == 8 && giveBack().count == 8)
  }
}

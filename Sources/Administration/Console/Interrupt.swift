package import Basics
import Dispatch
import Glibc
import Synchronization

/// Control-C, SIGTERM and the end of the terminal, in a command that stops at a place from which it can go on later. A
/// second Control-C or SIGTERM ends the process at once.
package final class Interrupt {
  private final class Came: Sendable {
    let number = Atomic<Int32>(0)
  }

  private static let numbers = [SIGINT, SIGTERM]
  private let came = Came()
  /// It is set when a signal has come, for work that cannot look at `signalNumber` in between.
  package let cancellation = Cancellation()
  private var sources: [any DispatchSourceProtocol] = []

  package init() {
    let queue = DispatchQueue(label: "parley.interrupt")
    // The end of a terminal sends SIGHUP more than once.
    for number in Self.numbers + [SIGHUP] {
      // A source sees signals that have no action of their own.
      let before = signal(number, SIG_IGN)
      // Under nohup(1) the command outlives its terminal.
      if number == SIGHUP, unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { continue }
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { [came, cancellation] in
        came.number.store(number, ordering: .relaxed)
        cancellation.set()
        for number in Self.numbers { signal(number, SIG_DFL) }
      }
      source.activate()
      sources.append(source)
    }
  }

  /// The signal that came; nil if none has.
  package var signalNumber: Int32? {
    let number = came.number.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }
}

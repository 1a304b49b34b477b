import Administration
import ArgumentParser
import Basics
import Dialogs
import ParleyServer
import ServerConfiguration

struct Top: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the running server's sessions, rates, latencies and queues, live.",
    discussion: """
      It fills the terminal until q or Control-C ends it. Rates and latencies are measured since the last update. Programs \
      should use parley stats instead.

      Examples:
        parley top
        parley top --every 5
      """)

  @Option(name: .long, help: ArgumentHelp("The seconds between two updates, 1 to 3600.", valueName: "seconds"))
  var every = 2
  @OptionGroup var configuration: ConfigurationOptions
  @OptionGroup(title: "Options for a remote server") var remote: RemoteOptions

  func validate() throws {
    guard (1...3_600).contains(every) else { throw ValidationError("--every is a number of seconds from 1 to 3600") }
  }

  func run() async throws {
    let screen = try Screen(for: "parley top")
    defer { screen.leave() }
    var view = await look(after: nil)
    await withTaskGroup(of: Void.self) { group in
      let (looks, look) = AsyncStream.makeStream(of: Void.self)
      group.addTask { [every] in
        // The sleep throws when the task is cancelled.
        while (try? await Task.sleep(for: .seconds(every))) != nil { look.yield() }
      }
      let (changes, change) = AsyncStream.makeStream(of: Screen.Event?.self)
      group.addTask { [events = screen.events] in for await event in events { change.yield(event) } }
      group.addTask { for await _ in looks { change.yield(nil) } }
      draw(view, on: screen)
      loop: for await event in changes {
        switch event {
        case .key(UInt8(ascii: "q"))?, .key(UInt8(ascii: "Q"))?, .ended?: break loop
        case .key?: break
        case .resized?: draw(view, on: screen)
        case nil:
          view = await self.look(after: view)
          draw(view, on: screen)
        }
      }
      group.cancelAll()
      look.finish()
    }
  }

  /// The numbers of one moment.
  private struct Look {
    let time: Timestamp
    let found: Result<(stats: ServerStats.Output, status: ServerStatus.Output), StartupError>
    let numbers: StatsNumbers?
  }

  private func look(after before: Look?) async -> Look {
    let time = SystemClock.now
    do {
      let server = try await remote.running(configuration)
      let status = try await server.call(ServerStatus.self, Empty())
      let stats = try await server.call(ServerStats.self, Empty())
      var earlier: ServerStats.Output?
      if case .success(let found)? = before?.found, found.status.uptimeSeconds <= status.uptimeSeconds {
        earlier = found.stats
      }
      let seconds = before.map { Double(time.milliseconds - $0.time.milliseconds) / 1_000 }
      return Look(
        time: time, found: .success((stats, status)), numbers: StatsNumbers(stats, after: earlier, seconds: seconds))
    } catch let error as StartupError {
      return Look(time: time, found: .failure(error), numbers: nil)
    } catch let problem as Problem {
      return Look(time: time, found: .failure(StartupError(problem.text)), numbers: nil)
    } catch {
      return Look(time: time, found: .failure(StartupError("\(error)")), numbers: nil)
    }
  }

  private func draw(_ look: Look, on screen: Screen) {
    let (width, height) = screen.size
    // The time of day of 2026-01-31T12:00:00.000Z.
    let time = String(look.time.description.dropFirst(11).prefix(8))
    switch (look.found, look.numbers) {
    case (.success(let found), let numbers?):
      screen.draw(TopView(numbers, found.status, time: time).lines(width: width, height: height))
    case (.failure(let error), _):
      screen.draw(TopView.absent(error.lines.joined(separator: "; "), time: time, width: width))
    case (.success, nil): break
    }
  }
}

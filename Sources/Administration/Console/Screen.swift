import Basics
import Dispatch
import Glibc
package import ServerConfiguration

/// The terminal as a full screen: the alternate one, without a cursor, with keys that come at once. Whatever ends the
/// command, a signal too, the terminal is as before.
package final class Screen {
  package enum Event: Sendable, Equatable {
    case key(UInt8)
    case resized
    /// A signal that ends the command.
    case ended
  }

  package let events: AsyncStream<Event>
  private let former: termios
  private let sources: [any DispatchSourceProtocol]

  /// Takes the terminal.
  ///
  /// - Throws: `StartupError` if input or output is none.
  package init(for command: String) throws(StartupError) {
    var former = termios()
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &former) == 0 else {
      throw StartupError("\(command) requires a terminal; parley stats prints the same numbers once", .usage)
    }
    self.former = former
    let (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(64))
    self.events = events
    let queue = DispatchQueue(label: "parley.screen")
    var sources: [any DispatchSourceProtocol] = []
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH] {
      // A source sees signals that have no action of their own.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { _ = continuation.yield(number == SIGWINCH ? .resized : .ended) }
      sources.append(source)
    }
    let input = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
    input.setEventHandler {
      var byte: UInt8 = 0
      _ = continuation.yield(read(STDIN_FILENO, &byte, 1) == 1 ? .key(byte) : .ended)
    }
    sources.append(input)
    self.sources = sources
    for source in sources { source.activate() }
    var raw = former
    // Control-Z would leave the shell on this screen.
    raw.c_lflag &= ~tcflag_t(ECHO | ICANON)
    withUnsafeMutableBytes(of: &raw.c_cc) { $0[Int(VSUSP)] = 0 }
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
    Self.write("\u{1b}[?1049h\u{1b}[?25l")
  }

  /// Gives the terminal back.
  package func leave() {
    for source in sources { source.cancel() }
    var former = former
    // Without dropping what was typed for the shell.
    tcsetattr(STDIN_FILENO, TCSADRAIN, &former)
    Self.write("\u{1b}[?25h\u{1b}[?1049l")
  }

  /// The columns and lines; 80 and 24 if the terminal does not say.
  package var size: (width: Int, height: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Draws all lines in place of what was there.
  package func draw(_ lines: [String]) {
    // Each line is cleared behind its text, so that nothing flickers.
    Self.write("\u{1b}[H" + lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n") + "\u{1b}[J")
  }

  private static func write(_ text: String) { _ = Files.writeAll(Array(text.utf8), to: STDOUT_FILENO) }
}

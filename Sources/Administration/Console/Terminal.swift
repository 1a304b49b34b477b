import Basics
import Glibc
package import ServerConfiguration

/// Standard input, output and error of a command.
package enum Terminal {
  /// Results: what a program may read.
  package static func print(_ text: String) { _ = Files.writeAll(Array((text + "\n").utf8), to: STDOUT_FILENO) }

  /// Everything else: progress, notes, errors.
  package static func note(_ text: String) { _ = Files.writeAll(Array((text + "\n").utf8), to: STDERR_FILENO) }

  /// Replaces the current line of standard error.
  package static func replaceLine(_ text: String) {
    _ = Files.writeAll(Array(("\r" + text + "\u{1b}[K").utf8), to: STDERR_FILENO)
  }

  package static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
  package static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// The first line of standard input without its end; nil: there is none, or it is longer than any password.
  package static func readLine(bytesMax: Int = 4_096) -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    var sawAny = false
    // Byte by byte: what follows the line belongs to somebody else.
    while true {
      let count = read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      sawAny = true
      if byte == 0x0a { break }
      if bytes.count == bytesMax { return nil }
      bytes.append(byte)
    }
    if bytes.last == 0x0d { bytes.removeLast() }
    return sawAny ? String(validating: bytes, as: UTF8.self) : nil
  }

  /// Asks on the terminal and does not show what is typed. The terminal is as before afterwards, also when the
  /// command is interrupted meanwhile: the echo is turned on again before anything else is done.
  package static func readSecret(_ prompt: String) -> String? {
    func ask() { _ = Files.writeAll(Array(prompt.utf8), to: STDERR_FILENO) }
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else {
      ask()
      return readLine()
    }
    var quiet = before
    quiet.c_lflag &= ~tcflag_t(ECHO | ISIG)
    guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0 else { return nil }
    defer {
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
      _ = Files.writeAll([0x0a], to: STDERR_FILENO)
    }
    // Only now: what is answered at once is neither shown nor forgotten.
    ask()
    guard let line = readLine() else { return nil }
    // Signals are off while typing, so that an interrupt cannot leave the terminal without echo; Control-C
    // arrives as a character and means what it always means.
    return line.unicodeScalars.contains("\u{3}") ? nil : line
  }

  /// Asks before something is lost for good.
  ///
  /// - Throws: when the answer is no, and where nobody can be asked.
  package static func confirm(_ question: String) throws(StartupError) {
    guard inputIsTerminal else { throw StartupError("\(question) --yes is needed where nobody can be asked", .usage) }
    note("\(question) Type yes to go on.")
    guard readLine() == "yes" else { throw StartupError("nothing was deleted") }
  }
}

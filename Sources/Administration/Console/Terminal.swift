import Basics
import Glibc
package import ServerConfiguration

/// The standard input, output and error of a command.
package enum Terminal {
  /// Prints a result, which a program may read, to standard output.
  package static func print(_ text: String) { _ = Files.writeAll(Array((text + "\n").utf8), to: STDOUT_FILENO) }

  /// Prints progress, notes and errors to standard error.
  package static func note(_ text: String) { _ = Files.writeAll(Array((text + "\n").utf8), to: STDERR_FILENO) }

  /// Replaces the current line of standard error.
  package static func replaceLine(_ text: String) {
    _ = Files.writeAll(Array(("\r" + text + "\u{1b}[K").utf8), to: STDERR_FILENO)
  }

  package static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
  package static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
  package static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Returns the first line of standard input without its line end; nil if there is none or it is longer than any
  /// password.
  package static func readLine(bytesMax: Int = 4_096) -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    var sawAny = false
    // Single bytes are read, since the input behind the line belongs to another reader.
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

  /// Prompts on the terminal and reads a line without echo. The echo is restored even if the command is interrupted
  /// meanwhile.
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
    // The prompt follows the change of the terminal, so that even an immediate answer is neither echoed nor lost.
    ask()
    guard let line = readLine() else { return nil }
    // Signals are off while the user types, so that an interrupt cannot leave the terminal without echo; Control-C
    // arrives as a character and is handled here.
    return line.unicodeScalars.contains("\u{3}") ? nil : line
  }

  /// Asks for confirmation before data is lost.
  ///
  /// - Throws: `StartupError` if the answer is no or the input is not a terminal.
  package static func confirm(_ question: String) throws(StartupError) {
    guard inputIsTerminal else {
      throw StartupError("\(question) --yes is required when standard input is not a terminal", .usage)
    }
    note("\(question) Type yes to continue.")
    guard readLine() == "yes" else { throw StartupError("nothing was deleted") }
  }
}

import Basics
import Testing

@testable import Administration

extension CSVReader {
  fileprivate init(text: String) {
    var rest: [UInt8]? = Array(text.utf8)
    self.init { () throws(Files.Failure) -> [UInt8] in
      defer { rest = nil }
      return rest ?? []
    }
  }
}

/// CSV by RFC 4180.
@Suite struct CSVTests {
  private func rows(_ text: String) throws -> [[String]] {
    var reader = CSVReader(text: text)
    var rows: [[String]] = []
    while let row = try reader.row() { rows.append(row.fields) }
    return rows
  }

  @Test(arguments: [
    ("", []),
    ("a,b\n", [["a", "b"]]),
    ("a,b\r\nc,d", [["a", "b"], ["c", "d"]]),
    ("\u{feff}a\n", [["a"]]),
    ("a,,\n\n\nb,c,d\n", [["a", "", ""], ["b", "c", "d"]]),
    // RFC 4180 2.6: commas and line breaks in quotes; 2.7: a quote is doubled.
    ("\"a,b\",\"c\r\nd\",\"e \"\"f\"\"\"\n", [["a,b", "c\r\nd", "e \"f\""]]),
    ("\"\",x\n", [["", "x"]]),
    // RFC 4180 2.4: spaces belong to the field.
    (" a , b \n", [[" a ", " b "]]),
  ])
  func records(text: String, expected: [[String]]) throws {
    #expect(try rows(text) == expected)
  }

  @Test(arguments: [
    ("a\n\"b\nc\n", 2, "a quote that is never closed"),
    ("a\nb,c\"d\n", 2, "a quote inside a field that does not begin with one"),
    ("\"a\nb\"x\n", 2, "text after the closing quote"),
    ("a\rb\n", 1, "a carriage return without a line feed"),
  ])
  func flawsTellTheLine(text: String, line: Int, reason: String) throws {
    let flaw = try #require(throws: CSVReader.Flaw.self) { _ = try rows(text) }
    #expect(flaw == CSVReader.Flaw(line: line, text: reason))
  }

  @Test func linesAreCountedThroughQuotedBreaks() throws {
    var reader = CSVReader(text: "a\n\"b\nc\"\nd\n")
    var lines: [Int] = []
    while let row = try reader.row() { lines.append(row.line) }
    #expect(lines == [1, 2, 4])
  }

  @Test func boundsAreErrors() throws {
    let long = String(repeating: "x", count: AdminLimits.csvFieldBytesMax + 1)
    #expect(throws: CSVReader.Flaw.self) { _ = try rows(long) }
    #expect(throws: CSVReader.Flaw.self) { _ = try rows(String(repeating: ",", count: AdminLimits.csvFieldsMax)) }
    #expect(
      try rows(String(repeating: ",", count: AdminLimits.csvFieldsMax - 1))[0].count == AdminLimits.csvFieldsMax)
  }

  @Test func piecesOfOneByteGiveTheSame() throws {
    let text = "\u{feff}jid,\"na\"\"me\"\r\n\"ä,\nb\",c\r\n"
    var rest = Array(text.utf8)[...]
    var reader = CSVReader { () throws(Files.Failure) -> [UInt8] in rest.popFirst().map { [$0] } ?? [] }
    #expect(try reader.row()?.fields == ["jid", "na\"me"])
    #expect(try reader.row()?.fields == ["ä,\nb", "c"])
    #expect(try reader.row() == nil)
    #expect(reader.bytesRead == Int64(text.utf8.count))
  }

  @Test func columnsAreFoundByName() throws {
    var table = try CSVTable(
      CSVReader(text: "Name, JID,password\nAlice,a@x,s\nshort\nBob,b@x,t\n"), required: ["jid", "password"],
      optional: ["name", "groups"])
    var seen: [String] = []
    while let next = try table.next() {
      switch next {
      case .success(let record): seen.append("\(record.line) \(record["jid"]) \(record["name"]) \(record["groups"])")
      case .failure(let flaw): seen.append("\(flaw.line) \(flaw.text)")
      }
    }
    #expect(seen == ["2 a@x Alice ", "3 1 field where the first line has 3", "4 b@x Bob "])
  }

  /// A file whose header names more columns than most of its lines have.
  @Test func missingFieldsAtTheEndAreEmpty() throws {
    var table = try CSVTable(
      CSVReader(text: "jid,name,email\na@x\nb@x,Bob\nc@x,Cy,c@y\nd@x,,,\n"), required: ["jid"],
      optional: ["name", "email"])
    var seen: [String] = []
    while let next = try table.next() {
      switch next {
      case .success(let record): seen.append("\(record["jid"])|\(record["name"])|\(record["email"])")
      case .failure(let flaw): seen.append("\(flaw.line) \(flaw.text)")
      }
    }
    #expect(seen == ["a@x||", "b@x|Bob|", "c@x|Cy|c@y", "5 4 fields where the first line has 3"])
  }

  @Test(arguments: [
    ("", "the file is empty; the first line names columns: jid, password and any of name"),
    ("jid,name\n", "the column password is missing; the first line names columns: jid, password and any of name"),
    ("jid,password,mail\n", "there is no column \"mail\"; the first line names columns: jid, password and any of name"),
    ("jid,password,jid\n", "the column jid occurs twice"),
  ])
  func aWrongHeaderIsTold(text: String, reason: String) throws {
    let flaw = try #require(throws: CSVReader.Flaw.self) {
      _ = try CSVTable(CSVReader(text: text), required: ["jid", "password"], optional: ["name"])
    }
    #expect(flaw.text == reason)
  }
}

@Suite struct CSVWriterTests {
  @Test(arguments: [
    "=1+1", "+39", "-x", "@SUM(A1)", "\t=1", "'=1", "''@a", "'Mama", "''", "", "Alice", "a=b", "Ä,\"\n",
  ])
  func aTextComesBackAsItWas(text: String) throws {
    let field = CSVWriter.text(text)
    #expect(CSVWriter.plain(field) == text)
    #expect(!["=", "+", "-", "@", "\t", "\r"].contains { field.hasPrefix($0) }, "a spreadsheet computes it")
    var reader = CSVReader(text: CSVWriter.line([field, "b"]) + "\n")
    #expect(try reader.row()?.fields == [field, "b"])
  }

  @Test func aFieldWithoutAnApostropheStays() {
    for text in ["=1+1", "O'Hara", "'Mama"] { #expect(CSVWriter.plain(text) == text) }
    #expect(CSVWriter.text("Alice") == "Alice" && CSVWriter.text("'Mama") == "'Mama")
  }

  /// U+009B begins what moves the cursor, as an escape and a bracket do.
  @Test func aTerminalGetsNoControlCharacters() {
    let fields = ["a@x", "\u{9b}2Jb\u{202e}"]
    #expect(CSVWriter.line(fields, isForTerminal: true) == "a@x,\\u{9b}2Jb\\u{202e}")
    #expect(CSVWriter.line(fields) == "a@x,\u{9b}2Jb\u{202e}")
    #expect(Line.safe(json: "{\n  \"a\": \"\u{9b}2J\u{202e}ä\"\n}") == "{\n  \"a\": \"\\u009b2J\\u202eä\"\n}")
  }
}

@Suite struct ConsoleTests {
  @Test func tablesAlignWhatATerminalShows() {
    var table = TextTable([("User", .left), ("Name", .left), ("Messages", .right)])
    table.add(["alice@localhost", "Alice", "7"])
    table.add(["li@localhost", "李小龍", "1,200"])
    table.add(["evil@localhost", "a\u{1b}[2Jb\n", ""])
    #expect(
      table.text() == """
        User             Name           Messages
        alice@localhost  Alice                 7
        li@localhost     李小龍            1,200
        evil@localhost   a\\u{1b}[2Jb\\n
        """)
  }

  @Test func progressTellsShareCountRateAndTimeLeft() {
    #expect(
      ProgressBar.text("users", done: 5_000, fraction: 0.5, elapsed: .milliseconds(2_500))
        == "[##########----------]  50 %  5,000 users  2,000/s  00:03 left")
    #expect(
      ProgressBar.text("users", done: 10_000, fraction: 1, elapsed: .seconds(3_725))
        == "[####################] 100 %  10,000 users  2/s  1:02:05 in all")
    #expect(
      ProgressBar.text("users", done: 0, fraction: 0, elapsed: .zero)
        == "[--------------------]   0 %  0 users  0/s")
  }

  @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (1_020_304, "1,020,304"), (-1_500, "-1,500")])
  func numbersInGroups(number: Int, text: String) {
    #expect(ProgressBar.grouped(number) == text)
  }

  @Test func theBarIsNotDrawnForEveryRow() {
    let start = ContinuousClock.now
    var bar = ProgressBar("rows", start: start)
    #expect(bar.update(done: 1, fraction: 0.1, now: start + .milliseconds(1)) != nil)
    #expect(bar.update(done: 2, fraction: 0.2, now: start + .milliseconds(50)) == nil)
    #expect(bar.update(done: 3, fraction: 0.3, now: start + .milliseconds(102)) != nil)
    #expect(bar.update(done: 4, fraction: 1, now: start + .milliseconds(103)) != nil)
  }

  @Test func passwordsAreLongAndDiffer() {
    let passwords = (0..<100).map { _ in Passwords.make() }
    #expect(Set(passwords).count == 100)
    #expect(passwords.allSatisfy { $0.count == 23 && $0.split(separator: "-").count == 4 })
  }
}

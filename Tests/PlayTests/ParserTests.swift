import JSON
import ParleyTesting
import Testing

@Suite struct ParserTests {
  private let cast = "cast:\n  Romeo (xmpp) romeo@localhost/orchard\n  Juliet (app) juliet@localhost\n"

  @Test func everythingIsRead() throws {
    let play = try PlayParser.parse(
      """
      # A comment.
      settings:
        resume.seconds = 5
      cast:
        Romeo (xmpp, carbons, priority -1) romeo@localhost/orchard
        Juliet (app, absent) juliet@localhost/phone
      friends:
        Romeo, Juliet

      Romeo sends:
        <message to='{x}'>
          <body>Hi</body>
        </message>
        <presence/>
      Juliet connects
      Juliet does: POST /v1/dialogs
        {"type":"private",
         "userId":"romeo"}
        -> 201 {"id":"{d}"}
      Juliet does: GET /v1/dialogs
      Romeo receives nothing
      server restarts
      """, name: "all.play")
    #expect(play.settings.map { "\($0.key)=\($0.value)" } == ["resume.seconds=5"])
    #expect(play.cast.map(\.name) == ["Romeo", "Juliet"])
    #expect(play.cast[0].options == [.carbons] && play.cast[0].priority == -1 && play.cast[0].resource == "orchard")
    #expect(play.cast[1].isAbsent && play.cast[1].door == .app)
    #expect(play.friends.map { [$0.first, $0.second] } == [["Romeo", "Juliet"]])
    #expect(play.lines.map(\.number) == [10, 15, 16, 20, 21, 22])
    #expect(!play.needsProcess)
    guard case .sends("Romeo", let text) = play.lines[0].act else {
      Issue.record("not sent")
      return
    }
    #expect(text == "<message to='{x}'><body>Hi</body></message><presence/>")
    guard case .does("Juliet", let request) = play.lines[2].act else {
      Issue.record("not done")
      return
    }
    #expect(request.method == "POST" && request.path == "/v1/dialogs" && request.status == 201)
    #expect(request.body == "{\"type\":\"private\",\"userId\":\"romeo\"}")
    #expect(request.answer?["id"]?.string == "{d}")
    guard case .does("Juliet", let get) = play.lines[3].act else {
      Issue.record("not done")
      return
    }
    #expect(get.body == nil && get.status == nil && get.answer == nil)
  }

  @Test func scenesAreNamedOnce() throws {
    let play = try PlayParser.parse(
      cast + "scene: Example 1: One\nRomeo receives nothing\nscene: Two\nJuliet connects\n", name: "s.play")
    #expect(play.scenes == ["Example 1: One", "Two"])
    #expect(play.lines.map(\.number) == [4, 5, 6, 7])
    #expect(throws: PlayError.self) { try PlayParser.parse(cast + "scene: One\nscene: One\n", name: "s.play") }
  }

  @Test func severalSkipTheRest() throws {
    let play = try PlayParser.parse(cast + "Romeo, Juliet skip the rest\nJuliet connects\n", name: "s.play")
    guard case .skipsTheRest(["Romeo", "Juliet"]) = play.lines[0].act else {
      Issue.record("nobody skips")
      return
    }
  }

  /// A line break is a space between attributes and nothing elsewhere; indentation counts for nothing.
  @Test func linesAreFolded() throws {
    let play = try PlayParser.parse(
      cast + """
        Romeo sends: <message to='a'
            type='chat'
          id='a>
          b'><body>It's
          so</body>
          <x/></message>
          <presence/>
        Juliet sends: {"a":"b
          c",
          "d":[1,
            2]}
        Juliet does: PUT /v1/x
          {"a":
            1}
          -> 200 {"b":
            2}
        """, name: "fold.play")
    guard case .sends(_, let stanzas) = play.lines[0].act, case .sends(_, let frame) = play.lines[1].act,
      case .does(_, let request) = play.lines[2].act
    else {
      Issue.record("not sent")
      return
    }
    #expect(
      stanzas == "<message to='a' type='chat' id='a>b'><body>It'sso</body><x/></message><presence/>")
    #expect(frame == #"{"a":"bc","d":[1,2]}"#)
    #expect(request.path == "/v1/x" && request.body == #"{"a":1}"# && request.answer?["b"]?.text == "2")
  }

  @Test func noLineIsLong() throws {
    for name in Playbill.names {
      for (index, line) in try Playbill.text(name).split(separator: "\n", omittingEmptySubsequences: false).enumerated()
      {
        #expect(line.count <= 130, "\(name):\(index + 1) has \(line.count) characters")
      }
    }
  }

  /// A play that is not found, or not read, would be a test that tests nothing.
  @Test func allPlaysAreRead() throws {
    #expect(Playbill.names.count >= 40)
    for name in Playbill.names {
      let play = try Playbill.play(name)
      #expect(
        play.lines.contains { if case .sends = $0.act { true } else if case .does = $0.act { true } else { false } })
    }
  }

  @Test func killingNeedsAProcess() throws {
    #expect(try PlayParser.parse(cast + "server is killed", name: "kill.play").needsProcess)
  }

  /// A faulty play, the line of the error, and a part of the error's text.
  @Test(arguments: [
    ("", 1, "cast"),
    ("  <presence/>", 1, "indented"),
    ("cast:\n  Romeo romeo@localhost", 2, "a role is written"),
    ("cast:\n  romeo (xmpp) romeo@localhost", 2, "capital"),
    ("cast:\n  Romeo (xmpp, loud) romeo@localhost", 2, "\"loud\" is no option"),
    ("cast:\n  Romeo (irc) romeo@localhost", 2, "a role is written"),
    ("cast:\n  Romeo (xmpp) a@b\n  Romeo (xmpp) a@b", 3, "twice"),
    ("cast:\n  Romeo (xmpp) a@b\nfriends:\n  Romeo, Paris", 4, "Paris is not in the cast"),
  ])
  func brokenCast(text: String, line: Int, says: String) {
    expect(text, line: line, says: says)
  }

  @Test(arguments: [
    ("Paris sends: <presence/>", 4, "Paris is not in the cast"),
    ("Romeo", 4, "what does Romeo do"),
    ("Romeo dances", 4, "no such verb"),
    ("Romeo dances: well", 4, "no such verb"),
    ("Romeo sends:", 4, "must follow"),
    ("Romeo sends:\n  <a>\n  </b>", 5, "not well-formed"),
    ("Juliet sends: {\"id\":1", 4, "at byte 7"),
    ("Juliet receives:\n  {\"a\":1}\n  {\"b\":}", 6, "JSON"),
    ("Romeo does: GET /v1/info", 4, "only app players"),
    ("Juliet does: FETCH /v1/info", 4, "a request is written"),
    ("Juliet does: GET /v1/info\n  -> fine", 5, "an answer is written"),
    ("Romeo connects\n  <presence/>", 5, "nothing may stand below"),
    ("Romeo, Paris skip the rest", 4, "Paris is not in the cast"),
    ("Romeo skips the rest\nscene: One", 5, "not needed"),
    ("Romeo skips the rest", 4, "not needed"),
  ])
  func brokenLines(text: String, line: Int, says: String) {
    expect(cast + text, line: line, says: says)
  }

  private func expect(_ text: String, line: Int, says: String) {
    do throws(PlayError) {
      _ = try PlayParser.parse(text, name: "broken.play")
      Issue.record("nothing was wrong")
    } catch {
      #expect(error.line == line, "\(error)")
      #expect(error.text.contains(says), "\(error)")
      #expect(error.description.hasPrefix("broken.play:\(line): "))
    }
  }
}

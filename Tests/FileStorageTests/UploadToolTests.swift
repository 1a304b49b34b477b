import Dialogs
import Foundation
import ServerFixtures
import Testing

@testable import FileStorage

/// Programs that read what strangers wrote.
@Suite(.timeLimit(.minutes(2)))
struct ChildProgramTests {
  private func run(
    _ script: String, input: String = "", outputMax: Int = 1_000, time: Duration = .seconds(60),
    bounds: ChildProgram.Bounds? = nil
  ) throws -> ChildProgram.Outcome {
    try withScratchFolder { (folder: String) throws -> ChildProgram.Outcome in
      let path = folder + "/input"
      #expect(FileManager.default.createFile(atPath: path, contents: Data(input.utf8)))
      let file = open(path, O_RDONLY)
      defer { close(file) }
      return ChildProgram(
        arguments: ["/bin/sh", "-c", script], environment: ["PATH=/usr/bin:/bin", "A=b"], bounds: bounds
      ).run(input: file, outputMax: outputMax, time: time)
    }
  }

  private func said(_ text: String, status: Int32 = 0) -> ChildProgram.Outcome {
    .ended(status: status, output: Array(text.utf8))
  }

  @Test func itReadsAndWritesAndEnds() throws {
    #expect(try run("tr a-z A-Z; exit 3", input: "rose") == said("ROSE", status: 3))
    #expect(ChildProgram(arguments: ["/nowhere"]).run(input: 0, outputMax: 1, time: .seconds(60)) == .failed(ENOENT))
    #expect(ChildProgram.find("sh")?.hasSuffix("/sh") == true)
    #expect(ChildProgram.find("no-such-program-anywhere") == nil)
  }

  /// The tool gets neither the server's files and sockets nor its environment, which may hold secrets.
  @Test func itHasNothingOfTheServers() throws {
    var pipes: [Int32] = [-1, -1]
    #expect(pipe(&pipes) == 0)
    defer { for end in pipes { close(end) } }
    let script = "for i in 0 1 2 3 4 5 6 7 8 9 10 20 30; do [ -e /proc/$$/fd/$i ] && printf \"$i \"; done; :"
    #expect(try run(script) == said("0 1 2 "))
    #expect(try run("[ -z \"$HOME$USER\" ] && printf $A") == said("b"))
  }

  @Test func aHangingOrFloodingToolIsKilledWithItsChildren() throws {
    #expect(try run("tail -f /dev/null & tail -f /dev/null", time: .milliseconds(50)) == .killed)
    #expect(try run("exec 1>&-; kill -STOP $$", time: .milliseconds(50)) == .killed)
    #expect(try run("while :; do echo rose; done", outputMax: 100) == .killed)
    #expect(try run("kill -SEGV $$") == .killed)
  }

  @Test func itHasLessOfABusyProcessor() throws {
    guard case .ended(status: 0, let output) = try run("nice"),
      let own = Int(String(decoding: output.dropLast(), as: UTF8.self))
    else {
      Issue.record("nice(1) does not print its niceness")
      return
    }
    let bounds = ChildProgram.Bounds(memory: 64 * 1_048_576, seconds: 1, fileBytes: 512, niceness: 10)
    #expect(try run("nice", bounds: bounds) == said("\(min(19, own + 10))\n"))
  }

  /// Where there is no memory left, the system ends it rather than the server.
  @Test func itIsTheFirstToEnd() throws {
    let bounds = ChildProgram.Bounds(memory: 64 * 1_048_576, seconds: 1, fileBytes: 512, niceness: 10)
    #expect(try run("cat /proc/self/oom_score_adj", bounds: bounds) == said("1000\n"))
  }

  /// In MiB: the server's memory, that of one program, and the number of programs.
  @Test(arguments: [(256, 320, 1), (1_024, 320, 1), (2_048, 512, 2), (4_096, 1_024, 2), (16_384, 1_024, 8)])
  func programsForPicturesHaveAShareOfTheMemory(memory: Int, each: Int, atOnce: Int) {
    #expect(StorageLimits.pictureBounds(memory: memory << 20).memory == each << 20)
    #expect(StorageLimits.picturesAtOnce(memory: memory << 20) == atOnce)
  }

  @Test func boundsHold() throws {
    let bounds = ChildProgram.Bounds(memory: 64 * 1_048_576, seconds: 1, fileBytes: 512, niceness: 10)
    // The first fails for want of memory, which status that is depends on the program.
    let status = try run("head -c 200000000 /dev/zero | tail -c 200000000 >/dev/null 2>&1; echo $?", bounds: bounds)
    #expect(status != said("0\n"))
    #expect(try run("while :; do :; done", bounds: bounds) == .killed)
    #expect(try run("ulimit -v; ulimit -f; ulimit -c", bounds: bounds) == said("65536\n1\n0\n"))
  }
}

@Suite struct ScannerTests {
  @Test func answersOfClamd() throws {
    #expect(try ClamdScanner.verdict("stream: OK") == .clean)
    #expect(try ClamdScanner.verdict("stream: Eicar-Test-Signature FOUND") == .refused("Eicar-Test-Signature"))
    for answer in ["INSTREAM size limit exceeded. ERROR", "stream: Can't allocate memory ERROR", "", "UNKNOWN COMMAND"]
    {
      #expect(throws: ScanFailure.self) { try ClamdScanner.verdict(answer) }
    }
  }

  @Test(
    arguments: [
      ("/run/clamd.ctl", .unix("/run/clamd.ctl")), ("127.0.0.1:3310", .tcp(host: "127.0.0.1", port: 3_310)),
      ("[::1]:3310", .tcp(host: "::1", port: 3_310)), ("clamd.example:1", .tcp(host: "clamd.example", port: 1)),
      ("clamd", nil), (":3310", nil), ("a:0", nil), ("a:x", nil),
    ] as [(String, ClamdAddress?)])
  func addresses(_ text: String, _ address: ClamdAddress?) {
    #expect(ClamdAddress(text) == address)
  }

  @Test func aProgramSaysByItsStatus() throws {
    try withScratchFolder { (folder: String) throws -> Void in
      let path = folder + "/file"
      #expect(FileManager.default.createFile(atPath: path, contents: Data("bad".utf8)))
      func scan(_ script: String, _ time: Duration = .seconds(60)) throws -> ScanVerdict {
        try CommandScanner(arguments: ["/bin/sh", "-c", script], time: time).scan(path)
      }
      #expect(try scan("grep -q good && exit 1; exit 0") == .clean)
      #expect(try scan("grep bad && exit 1; exit 0") == .refused("bad"))
      #expect(throws: ScanFailure.self) { try scan("exit 2") }
      #expect(throws: ScanFailure.self) { try scan("tail -f /dev/null", .milliseconds(50)) }
      #expect(throws: ScanFailure.self) { try CommandScanner(arguments: ["/nowhere"], time: .seconds(9)).scan(path) }
    }
  }

  @Test func nobodyThereIsNoVerdict() throws {
    try withScratchFolder { (folder: String) throws -> Void in
      for address in [ClamdAddress.unix(folder + "/none"), .unix(String(repeating: "x", count: 200))] {
        #expect(throws: ScanFailure.self) {
          try ClamdScanner(address: address, time: .seconds(9)).scan("/dev/null")
        }
      }
    }
  }
}

/// Tests of pictures with the program, which `make test` installs.
@Suite(.timeLimit(.minutes(2)))
struct PictureTests {
  /// 3 x 2 pixels.
  private static let png =
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR42mM4wcAAQQxwFgAzpASxhX+UXwAAAABJRU5ErkJggg=="

  @Test func picturesAreMadeSmallerAndNeverLarger() throws {
    try withScratchFolder { (folder: String) throws -> Void in
      let pictures = try #require(VipsPictures(folder: folder, memory: 1 << 30))
      let bytes = Array(try #require(Data(base64Encoded: Self.png)))
      let same = try #require(pictures.shrunk(.bytes(bytes), side: 100, as: .png))
      #expect(ImageSize(of: same) == ImageSize(width: 3, height: 2))
      let small = try #require(pictures.shrunk(.bytes(bytes), side: 1, as: .jpeg))
      #expect(ImageSize(of: small) == ImageSize(width: 1, height: 1))
      #expect(small.starts(with: [0xFF, 0xD8]))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }

  @Test func aFileThatIsNoPictureHasNoThumbnail() throws {
    try withScratchFolder { (folder: String) throws -> Void in
      let pictures = try #require(VipsPictures(folder: folder, memory: 1 << 30))
      #expect(pictures.shrunk(.file(folder + "/none"), side: 100, as: .jpeg) == nil)
      // Kinds of file that need no picture's bytes are off: a program made of text would read others.
      for text in ["", "\u{89}PNG", "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", "P3 1 1 1 1 1 1"]
      {
        #expect(pictures.shrunk(.bytes(Array(text.utf8)), side: 100, as: .jpeg) == nil, "\(text)")
      }
    }
  }
}

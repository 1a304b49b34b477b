import Basics
import ServerConfiguration
import ServerFixtures
import Testing

@testable import Administration

@Suite struct KeyFileTests {
  @Test func theFirstLineIsTheKeyAndNothingElse() throws {
    try withScratchFolder { (folder: String) throws in
      let file = folder + "/key"
      func key(_ text: String) throws -> String {
        try Files.write(Array(text.utf8), to: file, mode: 0o600)
        return try RemoteClient.key(in: file)
      }
      let good = "parley_Aa0-_"
      #expect(try key(good + "\nKey 1, may server.\n") == good)
      #expect(try key(good + "\r\n") == good)
      #expect(try key("token.of~an+admin/istrator==") == "token.of~an+admin/istrator==")
      // What `parley key add --json` and a quoted variable leave there.
      for text in ["{\n  \"secret\" : \"\(good)\"\n}\n", "\"\(good)\"", " " + good, "", "\n" + good] {
        let refusal = #expect(throws: StartupError.self, "\(text)") { _ = try key(text) }
        #expect(refusal?.status == .usage)
        #expect(refusal?.lines.first?.contains("the first line is not an app key, which begins with parley_.") == true)
        #expect(refusal?.lines.first?.contains(good) == false)
      }
    }
  }
}

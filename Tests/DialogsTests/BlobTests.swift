import Addresses
import Synchronization
import Testing

@testable import Dialogs

@Suite struct BlobLinkTests {
  private let links = BlobLinks(base: "https://chat.example")
  private let id = "0123456789abcdef0123456789abcdef"

  @Test func linksAreFoundInTexts() throws {
    let blob = try #require(BlobID(id))
    let url = "https://chat.example/uploads/\(id)/a.png"
    #expect(links.id(in: url) == blob)
    for text in [url, "see \(url) there", "h https://chat.example/uploads/x \(url)\(url)", "hhttps\(url)"] {
      #expect(links.ids(in: text, limit: 9) == [blob], "\(text)")
    }
    #expect(links.ids(in: "\(url) https://chat.example/uploads/\(String(id.reversed()))/", limit: 9).count == 2)
    #expect(links.ids(in: "\(url) https://chat.example/uploads/\(String(id.reversed()))/", limit: 1) == [blob])
    let others = [
      "", "h", "https://chat.example/uploads/", "https://chat.example/uploads/\(id.dropLast())",
      "https://other.example/uploads/\(id)/a", "https://chat.example/uploads/\(id.uppercased())/a",
    ]
    for text in others { #expect(links.ids(in: text, limit: 9).isEmpty, "\(text)") }
    for text in others + ["https://chat.example/uploads/\(id)", " " + url] { #expect(links.id(in: text) == nil) }
  }

  @Test(arguments: [
    ("très cool.jpg", "très cool.jpg"), ("/etc/passwd", "passwd"), ("..\\..\\a.exe", "a.exe"), ("", "file"),
    ("..", "file"), ("a/..", "file"), ("a\u{0}\n\u{202e}b", "ab"), ("a/", "a"),
    ("می\u{200c}خواهم.pdf", "می\u{200c}خواهم.pdf"), ("👩\u{200d}🚀.png", "👩\u{200d}🚀.png"), ("\u{200d}.\u{3164}", "file"),
  ])
  func namesAreOnePartOfAPath(_ given: String, _ kept: String) { #expect(BlobLinks.name(given) == kept) }

  @Test func longNamesKeepTheirEnding() {
    let name = BlobLinks.name(String(repeating: "é", count: 300) + ".jpeg")
    #expect(name.hasSuffix("é.jpeg") && name.utf8.count <= 255 && name.utf8.count > 250)
    #expect(BlobLinks.name("a." + String(repeating: "b", count: 300)).utf8.count <= 255)
  }

  @Test(
    arguments: [
      ("image/PNG", "image/png"), ("text/plain; charset=utf-8", "text/plain"), ("text", nil), ("a/b/c", nil),
      ("/b", nil), ("a b/c\"", nil), ("", nil),
    ] as [(String, String?)])
  func mediaTypes(_ given: String, _ essence: String?) { #expect(MediaType.essence(given) == essence) }
}

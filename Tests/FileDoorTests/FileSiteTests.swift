import Addresses
import Basics
import Dialogs
import HTTPTypes
import Testing

@testable import FileDoor

@Suite struct ByteRangeTests {
  @Test(
    arguments: [
      (nil, ByteRange.whole), ("bytes=0-0", .part(0...0)), ("bytes=0-", .part(0...99)), ("bytes=-1", .part(99...99)),
      ("bytes=-500", .part(0...99)), ("bytes=90-500", .part(90...99)), ("Bytes = 5-6", .part(5...6)),
      ("bytes=100-", .none), ("bytes=100-200", .none), ("bytes=-0", .none),
      ("bytes=99999999999999999999-", .none), ("bytes=0-99999999999999999999", .part(0...99)),
      // What is no single range is ignored.
      ("bytes=6-5", .whole), ("bytes=0-1,5-6", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("bytes=a-b", .whole),
      ("bytes=--5", .whole), ("lines=0-5", .whole), ("0-5", .whole), ("bytes=+1-2", .whole),
    ] as [(String?, ByteRange)])
  func read(_ field: String?, _ range: ByteRange) { #expect(ByteRange(field, size: 100) == range) }
}

@Suite struct SafetyTests {
  private func blob(_ name: String, _ type: String?) -> Blob {
    Blob(
      id: .random(), realm: RealmID(1), owner: UserID(1), name: name, mediaType: type, size: 1, purpose: .message,
      state: .stored, createdAt: Timestamp(milliseconds: 0), expiresAt: nil)
  }

  @Test(
    arguments: [
      ("image/png", "image/png", "inline"), ("video/mp4", "video/mp4", "inline"), ("audio/ogg", "audio/ogg", "inline"),
      ("text/plain", "text/plain; charset=utf-8", "inline"), ("application/pdf", "application/pdf", "attachment"),
      (nil, "application/octet-stream", "attachment"), ("text/html", "application/octet-stream", "attachment"),
      ("image/svg+xml", "application/octet-stream", "attachment"),
      ("text/xml", "application/octet-stream", "attachment"),
      ("application/xhtml+xml", "application/octet-stream", "attachment"),
      ("application/javascript", "application/octet-stream", "attachment"),
      ("text/css", "application/octet-stream", "attachment"),
      ("application/wasm", "application/octet-stream", "attachment"),
    ] as [(String?, String, String)])
  func onlyWhatCannotActIsShown(_ type: String?, _ served: String, _ disposition: String) {
    let headers = FileSite.safety(of: blob("a.b", type))
    #expect(headers[.contentType] == served)
    #expect(headers[.contentDisposition]?.hasPrefix(disposition + ";") == true)
    #expect(headers[.xContentTypeOptions] == "nosniff")
    #expect(headers[.contentSecurityPolicy]?.contains("sandbox") == true)
  }

  @Test func aNameCannotLeaveItsHeader() {
    let field = FileSite.safety(of: blob("a\"; x=\\ü%.png", "image/png"))[.contentDisposition]
    #expect(field == "inline; filename=\"a_; x=___.png\"; filename*=UTF-8''a%22%3B%20x%3D%5C%C3%BC%25.png")
  }
}

@Suite struct PartTests {
  @Test(
    arguments: [
      ("0", 0), ("17", 17), ("999999999999999", 999_999_999_999_999), ("1000000000000000", nil), ("-1", nil),
      ("1.0", nil),
      ("", nil), (" 1", nil), (nil, nil), ("0x1", nil),
    ] as [(String?, Int64?)])
  func offsets(_ field: String?, _ offset: Int64?) { #expect(ResumableUpload.offset(field) == offset) }

  @Test func flags() {
    #expect(ResumableUpload.flag("?1") == true)
    #expect(ResumableUpload.flag("?0") == false)
    for field in ["1", "true", "?2", "", nil] as [String?] { #expect(ResumableUpload.flag(field) as Bool? == nil) }
  }
}

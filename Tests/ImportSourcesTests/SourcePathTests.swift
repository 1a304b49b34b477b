import Glibc
import Testing

@testable import ImportSources

@Suite struct SourcePathTests {
  @Test("A path that is no source is named, with what is expected there") func wrongPaths() throws {
    let folder = try Folder()
    let text = try folder.write("notes.txt", "hello")
    let missing = "\(folder.path)/missing"
    let host = try Folder()
    _ = try host.write("accounts/romeo.dat", "return {};")
    let cases: [(source: any ImportSource, path: String, words: [String])] = [
      (ProsodySource.at(missing), missing, ["there is no such file or folder", "data folder of Prosody"]),
      (ProsodySource.at(text), text, ["no SQLite database", "data folder of Prosody"]),
      (ProsodySource.at(folder.path), folder.path, ["no folder of a host", "is it Prosody's data folder?"]),
      (ProsodySource.at(host.path), host.path, ["it is a folder of a host: name the one above it"]),
      (EjabberdSource.at(missing, domain: nil), missing, ["there is no such file or folder", "ejabberdctl dump"]),
      (EjabberdSource.at(folder.path, domain: nil), folder.path, ["it is a folder", "ejabberdctl dump"]),
      (EjabberdSource.at(text, domain: nil, uploads: missing), missing, ["there is no such", "docroot"]),
      (EjabberdSource.at(text, domain: nil, uploads: text), text, ["it is no folder", "docroot"]),
      (PortableSource(missing), missing, ["there is no such file or folder", "XEP-0227"]),
      (PortableSource(folder.path), folder.path, ["it is a folder", "XEP-0227"]),
    ]
    for (source, path, words) in cases {
      let failure = #expect(throws: SourceFailure.self) { try source.check() }
      #expect(failure?.place.file == path)
      for word in words { #expect(failure?.text.contains(word) == true, "\(word): \(String(describing: failure))") }
    }
  }

  @Test("Who may not read a source learns who may") func unreadableSources() {
    let place = Place(file: "/var/lib/prosody")
    #expect(
      SourcePath.unreadable(place, EACCES).text
        == "it cannot be read: permission denied; repeat the command as root, who may read it: sudo parley import ...")
    #expect(!SourcePath.unreadable(place, EIO).text.contains("root"))
  }

  @Test("A file of something else is named, with what is expected") func otherFiles() throws {
    let folder = try Folder()
    let text = try folder.write("notes.txt", "hello\n")
    let cases: [(source: any ImportSource, words: String)] = [
      (EjabberdSource.at(text, domain: nil), "ejabberdctl dump"), (PortableSource(text), "XEP-0227"),
    ]
    for (source, words) in cases {
      try source.check()
      let reader = try source.reader(of: .accounts)
      let failure = #expect(throws: SourceFailure.self) { _ = try reader.next() }
      #expect(failure?.place.file == text)
      #expect(failure?.text.contains(words) == true, "\(String(describing: failure))")
      #expect(source.places.contains(text))
    }
  }
}

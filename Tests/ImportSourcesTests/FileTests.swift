import CSQLite
import Foundation
import Testing

@testable import ImportSources

@Suite struct FileTests {
  private func file(_ owner: String, _ secret: String, _ name: String, _ type: String?, at time: Int64) -> ImportRecord
  {
    .file(FileRecord(owner: owner, secret: secret, name: name, mediaType: type, size: 3, time: time))
  }

  @Test("Prosody's uploads have an owner; an unused slot, and a link in place of a file, are nothing") func prosody()
    throws
  {
    let folder = try Folder()
    _ = try folder.write("a/accounts/romeo.dat", "return { password = 'x' };")
    _ = try folder.write(
      "upload%2ea/uploads.list",
      """
      item({ key="Zt5b_q0-hnGPU4TY"; when=1600000000; with="romeo@a"; name="request"; attr={ filename="die Rose.png";
        size="3"; ["content-type"]="image/png"; xmlns="urn:xmpp:http:upload:0"; stamp="2020-09-13T12:26:40Z" }; });
      item({ key="unused"; when=1600000001; with="romeo@a"; name="request"; attr={ filename="b"; size="3" }; });
      item({ key="linked"; when=1600000002; with="romeo@a"; name="request"; attr={ filename="c"; size="3" }; });
      item({ key="nobodys"; when=1600000003; name="request"; attr={ filename="d"; size="3" }; });
      """)
    let bytes = try folder.write("upload%2ea/http_file_share/Zt5b%5fq0%2dhnGPU4TY.bin", "abc")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/upload%2ea/http_file_share/linked.bin", withDestinationPath: bytes)
    #expect(throws: SourceFailure.self) { try SourceFile(folder.path + "/upload%2ea/http_file_share/linked.bin") }
    let (records, flaws) = try all(ProsodyFolder(folder.path), .files)
    #expect(
      records == [file("romeo@a", "Zt5b_q0-hnGPU4TY", "die Rose.png", "image/png", at: 1_600_000_000_000)])
    #expect(flaws == ["5: its key, owner, file name or time is damaged"])
    #expect(try all(ProsodyFolder(folder.path), [.accounts, .rooms, .copies, .settings]).records.count == 1)
  }

  @Test("Those of Prosody's database are in the folder beside it") func prosodyDatabase() throws {
    let folder = try Folder()
    var handle: OpaquePointer?
    #expect(sqlite3_open(folder.path + "/prosody.sqlite", &handle) == SQLITE_OK)
    let sql = """
      CREATE TABLE prosody (host TEXT, user TEXT, store TEXT, key TEXT, type TEXT, value TEXT);
      CREATE TABLE prosodyarchive (sort_id INTEGER PRIMARY KEY, host TEXT, user TEXT, store TEXT, key TEXT, "when" INTEGER,
        "with" TEXT, type TEXT, value TEXT);
      INSERT INTO prosodyarchive VALUES (1, 'upload.a', '', 'uploads', '01-02', 1600000000, 'romeo@a', 'xml',
        '<request xmlns="urn:xmpp:http:upload:0" filename="a.txt" size="3"/>');
      """
    #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(handle)
    _ = try folder.write("upload%2ea/http_file_share/01%2d02.bin", "abc")
    let (records, flaws) = try all(ProsodyDatabase(folder.path + "/prosody.sqlite"), .files)
    #expect(records == [file("romeo@a", "01-02", "a.txt", nil, at: 1_600_000_000_000)])
    #expect(flaws.isEmpty)
  }

  @Test("ejabberd's folders are named after users, by hash or by name") func ejabberd() throws {
    let folder = try Folder()
    let dump = try folder.write(
      "dump.txt",
      """
      {tables,[]}.
      {passwd,{<<"romeo">>,<<"a">>},<<"x">>}.
      {passwd,{<<"ju liet">>,<<"a">>},<<"x">>}.
      {passwd,{<<"twin">>,<<"a">>},<<"x">>}.
      {passwd,{<<"twin">>,<<"b">>},<<"x">>}.

      """)
    // printf romeo@a | sha1sum
    for path in [
      "0408b627032b3548188ca8dd1fed354e9d14c039/11111111/rose.png", "ju_liet/22222222/a.txt", "twin/33333333/b.txt",
      "nobody/44444444/c.txt",
    ] {
      let file = try folder.write("upload/\(path)", "abc")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: file)
    }
    let (records, flaws) = try all(EjabberdSource.at(dump, domain: nil, uploads: folder.path + "/upload"), .files)
    #expect(
      records == [
        file("romeo@a", "11111111", "rose.png", nil, at: 1_600_000_000_000),
        file("ju liet@a", "22222222", "a.txt", nil, at: 1_600_000_000_000),
      ])
    #expect(flaws.count == 2)
  }
}

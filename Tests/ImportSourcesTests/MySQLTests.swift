import Testing

@testable import ImportSources

@Suite struct MySQLTests {
  /// The forms of MySQL, with all rows in one line, and of MariaDB, with a line for each.
  @Test(
    "Rows of a dump are read with their escapes, in the order of its columns",
    arguments: [
      "-- MySQL dump 10.13\n", "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n",
    ])
  func rows(_ start: String) throws {
    let folder = try Folder()
    let end = start.hasPrefix("/*") ? "\n" : " "
    let dump = try folder.write(
      "dump.sql",
      start + """
        CREATE TABLE `users` (
          `password` text NOT NULL,
          `username` varchar(191) NOT NULL,
          `serverkey` varchar(128) NOT NULL DEFAULT '',
          `salt` varchar(128) NOT NULL DEFAULT '',
          `iterationcount` int(11) NOT NULL DEFAULT 0,
          `created_at` timestamp NOT NULL DEFAULT current_timestamp(),
          PRIMARY KEY (`username`(191))
        ) ENGINE=InnoDB;
        LOCK TABLES `users` WRITE;
        /*!40000 ALTER TABLE `users` DISABLE KEYS */;
        INSERT INTO `users` VALUES\(end)('se\\'cr\\"e\\\\t;)\\n\\0','romeo','','',0,'2020-01-01'),\(end)('it''s',0x6AC3BC,'','',0,NULL);
        UNLOCK TABLES;
        CREATE TABLE `sm` (
          `x` text
        );
        INSERT INTO `sm` VALUES\(end)('(');
        INSERT INTO `users` (`username`, `password`) VALUES ('nurse',_binary 'x');
        CREATE TABLE `rosterusers` (
          `username` varchar(191) NOT NULL,
          `jid` varchar(191) NOT NULL,
          `nick` text NOT NULL,
          `subscription` character(1) NOT NULL,
          `ask` character(1) NOT NULL
        );
        INSERT INTO `rosterusers` VALUES\(end)('romeo','juliet@a','Jule','B','N');

        """)
    let accounts = try all(EjabberdSource.at(dump, domain: "a"), .accounts)
    #expect(
      accounts.records == [
        .account(AccountRecord(jid: "romeo@a", password: "se'cr\"e\\t;)\n\0")),
        .account(AccountRecord(jid: "jü@a", password: "it's")), .account(AccountRecord(jid: "nurse@a", password: "x")),
      ])
    #expect(
      try all(EjabberdSource.at(dump, domain: "a"), .settings).records == [
        .contact(ContactRecord(owner: "romeo@a", jid: "juliet@a", name: "Jule", subscription: "both"))
      ])
  }

  @Test(
    "A damaged dump is refused with its line",
    arguments: [
      ("INSERT INTO `users` VALUES ('a');", "columns"),
      ("INSERT INTO `users` (`username`) VALUES ('a", "within a text"),
      ("INSERT INTO `users` (`username`) VALUES ('a'", "followed"),
      ("INSERT INTO `users` (`username`) VALUES ('a')", "followed"),
      ("INSERT INTO `users` (`username`) VALUES (0xF);", "hexa"),
      ("INSERT INTO `users` (`username`) VALUES a;", "begin"),
      ("INSERT INTO `users` (`username`) VALUES\n('a'),", "within a table"),
      ("CREATE TABLE `users` (\n  `username` text", "within a table"), ("INSERT INTO `users`", "VALUES"),
    ])
  func damaged(_ text: String, _ reason: String) throws {
    let folder = try Folder()
    let dump = try folder.write("dump.sql", "-- MySQL dump 10.13\n" + text + "\n")
    let failure = #expect(throws: SourceFailure.self) { try all(EjabberdSource.at(dump, domain: "a"), .accounts) }
    #expect(failure?.text.contains(reason) == true)
    #expect((2...4).contains(failure?.place.line ?? 0))
  }
}

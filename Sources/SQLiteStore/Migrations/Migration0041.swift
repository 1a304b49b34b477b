extension Migration {
  /// The users from whom messages are accepted: at first all.
  static let messagesFrom = Migration(
    number: 41, name: "messages-from",
    sql: """
      ALTER TABLE user_settings ADD COLUMN messages_from INTEGER NOT NULL DEFAULT 2;
      """)
}

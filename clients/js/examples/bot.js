// A bot that answers. Run it: BOT_URL=http://127.0.0.1:8080 BOT_NAME=bot BOT_PASSWORD=... node bot.js
import { FileStorage, Parley } from "parley-client";

const parley = new Parley({
  url: process.env.BOT_URL ?? "http://127.0.0.1:8080",
  storage: new FileStorage(process.env.BOT_FILE ?? "bot.store"), // the login, the place in the log, unsent answers
});
parley.on("error", (error) => console.error(error.message));

const answers = {
  "/time": () => new Date().toISOString(),
  "/echo": (rest) => rest || "Nothing to repeat.",
  "/help": () => `I know ${Object.keys(answers).join(", ")}.`,
};

// Also what was said while the bot was not running, and what it was working on when it was stopped: `message` comes again until its listener has ended.
parley.on("message", async ({ message, isOwn }) => {
  if (isOwn || message.content.type !== "text") return;
  const [, command, rest] = /^(\/\w+)\s*(.*)$/s.exec(message.content.text) ?? [];
  if (!command) return;
  const answer = (answers[command] ?? answers["/help"])(rest);
  // The same clientId for the same question: an answer is given once, whenever the bot was stopped.
  await parley.send(message.dialogId, { text: answer, replyTo: message.id, clientId: `answer-${message.id}` });
});

if (!(await parley.open())) {
  const { BOT_NAME: username = "bot", BOT_PASSWORD: password } = process.env;
  if (!password) {
    console.error(`Set BOT_PASSWORD to the password of ${username}: the bot cannot sign in without it.`);
    process.exit(1);
  }
  await parley.signIn({ username, password });
}
await parley.connect();
console.log(`${parley.userId} listens`);
for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, async () => {
    await parley.close();
    process.exit(0);
  });

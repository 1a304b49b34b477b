import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const ts = createRequire(import.meta.url)(process.env.PARLEY_TYPESCRIPT);
/** Bytes, compressed as one stream. */
const SIZE_MAX = 22_000;

/** The files that a browser loads, by their names. */
function loaded(name = "parley.js", files = new Map()) {
  if (files.has(name)) return files;
  const code = readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
  files.set(name, code);
  for (const [, next] of code.matchAll(/ from "\.\/([\w.]+)"/g)) loaded(next, files);
  return files;
}

/** Code without comments, indentation and empty lines. The parser knows what a string, a template or a regular expression is. */
function bare(code) {
  const source = ts.createSourceFile("file.js", code, ts.ScriptTarget.Latest, true);
  let text = "";
  const add = (node) => {
    if (ts.isJSDoc(node)) return;
    const parts = node.getChildren(source);
    if (parts.length) return parts.forEach(add);
    const start = node.getStart(source),
      between = code.slice(node.pos, start);
    text += (between.includes("\n") ? "\n" : between && " ") + code.slice(start, node.end);
  };
  add(source);
  return text.trimStart();
}

test(`what a browser loads has at most ${SIZE_MAX} bytes, compressed and without comments`, (context) => {
  const files = [...loaded()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, code]) => code);
  const compiled = (code) =>
    ts.transpileModule(code, { compilerOptions: { target: "esnext", module: "esnext", removeComments: true } })
      .outputText;
  for (const code of files)
    assert.equal(compiled(bare(code)), compiled(code), "nothing but comments and space is left out");
  const size = gzipSync(files.map(bare).join("\n"), { level: 9 }).length;
  context.diagnostic(`${size} bytes`);
  assert.ok(size <= SIZE_MAX, `${size}`);
});

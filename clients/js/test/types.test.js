import assert from "node:assert/strict";
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { Call } from "../calls.js";
import * as browser from "../parley.js";
import * as node from "../node.js";
import { internalOf } from "../facade.js";
import { DialogView, View } from "../view.js";
import { client, everybodyLeaves } from "./people.js";

const ts = createRequire(import.meta.url)(process.env.PARLEY_TYPESCRIPT);
/** A folder in which the package is installed as npm installs it. */
const app = process.env.PARLEY_APP;
const here = (path) => new URL(path, import.meta.url);
const parsed = new Map();
after(everybodyLeaves);

/** Compiles programs of the app's folder; gives what TypeScript says of them, and the compiled program. */
function compile(names, settings) {
  const { options, errors } = ts.convertCompilerOptionsFromJson(
    { noEmit: true, target: "es2022", lib: ["es2022", "dom"], types: [], ...settings },
    app,
  );
  assert.deepEqual(errors, []);
  const host = ts.createCompilerHost(options),
    read = host.getSourceFile;
  // The browser's own declarations are long: they are read once.
  host.getSourceFile = (name, ...more) => {
    if (!parsed.has(name)) parsed.set(name, read.call(host, name, ...more));
    return parsed.get(name);
  };
  const program = ts.createProgram(
    names.map((name) => join(app, name)),
    options,
    host,
  );
  return { program, said: ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), host) };
}

for (const name of ["typed.ts", "typed-node.ts"]) copyFileSync(here(name), join(app, name));
const typed = compile(["typed.ts", "typed-node.ts"], { strict: true, module: "node16", moduleResolution: "node16" });
const checker = typed.program.getTypeChecker();
/** What a file of declarations exports: classes, interfaces and types by their names. */
const exported = (name) => {
  const source = typed.program.getSourceFile(join(app, "node_modules/parley-client", name));
  return new Map(checker.getExportsOfModule(checker.getSymbolAtLocation(source)).map((each) => [each.name, each]));
};
const declared = exported("node.d.ts");
const members = (name) => checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(declared.get(name)));
const isValue = (each) =>
  ((each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each).flags & ts.SymbolFlags.Value) !== 0;
const isMethod = (member) => (member.flags & ts.SymbolFlags.Method) !== 0;

test("the declarations compile in strict mode, and a program with them, which their mistakes would stop", () => {
  assert.equal(typed.said, "");
});

test("the code of README.md fits the declarations that a browser's program gets", () => {
  const code = [...readFileSync(here("../README.md"), "utf8").matchAll(/```js\n(.*?)```/gs)]
    .map(([, each]) => each)
    .join("\n");
  const given = "declare const address: string, password: string, file: File, show: (...what: unknown[]) => void;\n";
  writeFileSync(join(app, "readme.ts"), given + code);
  assert.equal(compile(["readme.ts"], { module: "es2022", moduleResolution: "node" }).said, "");
});

test("what is exported is declared, and nothing else", () => {
  for (const [name, sdk] of [
    ["parley.d.ts", browser],
    ["node.d.ts", node],
  ]) {
    const values = [...exported(name)].filter(([, each]) => isValue(each));
    assert.deepEqual(values.map(([each]) => each).sort(), Object.keys(sdk).sort(), name);
  }
});

test("what is declared is there, and every method that is there is declared, with its parameters", () => {
  const parley = client();
  const things = {
    Parley: parley,
    DialogView: new DialogView(new View(internalOf(parley), "d", 50)),
    Call: new Call(internalOf(parley), { id: "c", participants: [] }),
    ParleyError: new node.ParleyError("network"),
    FileStorage: new node.FileStorage(join(app, "store")),
    MemoryStorage: new node.MemoryStorage(),
    IndexedDBStorage: new node.IndexedDBStorage("d"),
  };
  for (const [name, thing] of Object.entries(things)) {
    const known = new Set();
    for (const member of members(name)) {
      const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0;
      assert.ok(isOptional || member.name in thing, `${name}.${member.name} is declared only`);
      known.add(member.name);
      if (!isMethod(member) || name === "ParleyError") continue;
      assert.equal(typeof thing[member.name], "function", `${name}.${member.name} is no method`);
      const signatures = checker.getTypeOfSymbolAtLocation(member, member.valueDeclaration).getCallSignatures();
      const most = Math.max(...signatures.map((each) => each.parameters.length)),
        least = Math.min(...signatures.map((each) => each.minArgumentCount));
      // What is forwarded takes any number, and gives them to what is behind.
      const { length } = internalOf(thing)?.[member.name] ?? thing[member.name];
      assert.ok(
        least <= length && length <= most,
        `${name}.${member.name} takes ${length} arguments, and ${least} to ${most} are declared`,
      );
    }
    for (
      let type = Object.getPrototypeOf(thing);
      type !== Object.prototype && type !== Error.prototype;
      type = Object.getPrototypeOf(type)
    ) {
      for (const [member, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type))) {
        assert.ok(
          member === "constructor" || typeof value !== "function" || known.has(member),
          `${name}.${member} is not declared`,
        );
      }
    }
    const own = Object.keys(thing).filter((member) => typeof thing[member] === "function");
    assert.deepEqual(own, [], name);
  }
});

test("what apps hold works behind a proxy, which frameworks such as Vue make of each object that they observe", () => {
  const observed = (object) =>
    new Proxy(object, {
      get(target, name, receiver) {
        const value = Reflect.get(target, name, receiver);
        return typeof value === "object" && value !== null ? observed(value) : value;
      },
    });
  const parley = client(),
    core = internalOf(parley);
  const call = new Call(core, { id: "c", callerId: "somebody", participants: [] });
  assert.equal(observed(parley).signedIn, false);
  assert.equal(typeof observed(parley).on("connection", () => {}), "function");
  assert.equal(observed(new DialogView(new View(core, "d", 50))).hasOlder, true);
  assert.equal(observed(call).isMine, false);
  assert.equal(typeof observed(call).on("state", () => {}), "function");
});

test("every method is called by a test, or by the code of README.md", () => {
  const files = [
    ...readdirSync(here("."))
      .filter((name) => !name.endsWith(".ts"))
      .map((name) => here(name)),
    here("../README.md"),
  ];
  const text = files.map((file) => readFileSync(file, "utf8")).join("\n");
  for (const name of ["Parley", "DialogView", "Call"]) {
    const unused = members(name).filter((member) => isMethod(member) && !new RegExp(`\\.${member.name}\\(`).test(text));
    assert.deepEqual(
      unused.map((member) => member.name),
      [],
      name,
    );
  }
});

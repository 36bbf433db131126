// Compiles every .ksy file to JavaScript, reads buffers with the parsers, and prints what they hold as JSON.
// Standard input: {"buffers": [{"spec": "winperf", "arguments": [false], "data": hex}, ...]}; standard output: a tree for each, null
// where the parser refuses it. Run by tests/interfaces/buffers/test_javascript.py.
"use strict";
const fs = require("fs");
const os = require("os");
const path = require("path");
const yaml = require("js-yaml");
const compiler = require("kaitai-struct-compiler");
const KaitaiStream = require("kaitai-struct/KaitaiStream");

const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
const pascal = (name) => camel("_" + name);

function specs() {
  const found = {};
  for (const folder of ["", "standalone"]) {
    for (const file of fs.readdirSync(path.join(__dirname, folder)).filter((name) => name.endsWith(".ksy"))) {
      found[path.posix.join(folder, file.slice(0, -4))] = yaml.load(fs.readFileSync(path.join(__dirname, folder, file), "utf8"));
    }
  }
  return found;
}

// The parsers of all specs, by name, loaded from a folder that is gone afterwards.
async function parsers(described) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "pcq-ksy-"));
  try {
    const runtime = path.join(folder, "node_modules", "kaitai-struct");
    fs.mkdirSync(runtime, { recursive: true });
    fs.copyFileSync(require.resolve("kaitai-struct/KaitaiStream"), path.join(runtime, "KaitaiStream.js"));
    // One description that imports all others: what several need is compiled once.
    const all = { meta: { id: "every_description", imports: Object.keys(described) } };
    const importYaml = async (wanted) => structuredClone(described[path.posix.normalize(wanted)]);
    const made = await compiler.compile("javascript", all, { importYaml }, false);
    for (const [file, text] of Object.entries(made)) fs.writeFileSync(path.join(folder, file), text);
    const loaded = {};
    for (const name of Object.keys(described)) {
      const root = pascal(path.posix.basename(name));
      loaded[name] = require(path.join(folder, root + ".js"))[root];
    }
    return loaded;
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

// The description of each class.
function descriptions(described, classes) {
  const found = new Map();
  const visit = (type, node) => {
    found.set(type, node);
    for (const [name, inner] of Object.entries(node.types || {})) visit(type[pascal(name)], inner);
  };
  for (const [name, spec] of Object.entries(described)) visit(classes[name], spec);
  return found;
}

function tree(value, nodes) {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.map((item) => tree(item, nodes));
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (typeof value !== "object") return value;
  const node = nodes.get(value.constructor);
  const made = {};
  for (const field of node.seq || []) made[field.id] = tree(value[camel(field.id)], nodes);
  for (const name of Object.keys(node.instances || {})) made[name] = tree(value[camel(name)], nodes);
  return made;
}

async function main() {
  const wanted = JSON.parse(fs.readFileSync(0, "utf8")).buffers;
  const described = specs();
  const classes = await parsers(described);
  const nodes = descriptions(described, classes);
  const trees = wanted.map((buffer) => {
    const stream = new KaitaiStream(Uint8Array.from(Buffer.from(buffer.data, "hex")).buffer);
    try {
      return tree(new classes[buffer.spec](stream, null, null, ...buffer.arguments), nodes);
    } catch (error) {
      return null;
    }
  });
  process.stdout.write(JSON.stringify(trees));
}

main().catch((error) => {
  process.stderr.write(String(error.message || error) + "\n");
  process.exit(1);
});

// Compiles every .ksy file of this folder and of captures/, and prints {folder: {path: text}} as JSON. Called by compile.py.
"use strict";
const fs = require("fs");
const path = require("path");
const yaml = require("js-yaml");
const compiler = require("kaitai-struct-compiler");

function specsOf(folder) {
  const names = fs.readdirSync(folder).filter((name) => name.endsWith(".ksy")).map((name) => name.slice(0, -4)).sort();
  return Object.fromEntries(names.map((name) => [name, yaml.load(fs.readFileSync(path.join(folder, name + ".ksy"), "utf8"))]));
}

async function compiled(specs, name, positions) {
  // The compiler changes what it is given, so it gets copies.
  const importer = { importYaml: async (wanted) => structuredClone(specs[wanted]) };
  const made = await compiler.compile("python", structuredClone(specs[name]), importer, positions).catch((error) => {
    throw new Error(`${name}.ksy: ${error.message || error}`);
  });
  return made[`${name}.py`];
}

async function main() {
  const specs = specsOf(__dirname);
  const buffers = { "specs.json": JSON.stringify(specs, null, 1) + "\n" };
  for (const [folder, positions] of [["plain", false], ["positions", true]]) {
    for (const name of Object.keys(specs)) {
      // Stubs are always read with positions.
      if (!positions && name.endsWith("_stubs")) continue;
      buffers[`${folder}/${name}.py`] = await compiled(specs, name, positions);
    }
  }
  const captures = specsOf(path.join(__dirname, "captures"));
  const parsers = {};
  for (const name of Object.keys(captures)) {
    parsers[`${name}.py`] = await compiled(captures, name, false);
  }
  process.stdout.write(JSON.stringify({ buffers, captures: { "specs.json": JSON.stringify(captures, null, 1) + "\n" }, parsers }));
}

main().catch((error) => {
  process.stderr.write(String(error.message || error) + "\n");
  process.exit(1);
});

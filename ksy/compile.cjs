// Compiles every .ksy file of this folder and prints {path: text} as JSON. Called by compile.py.
"use strict";
const fs = require("fs");
const path = require("path");
const yaml = require("js-yaml");
const compiler = require("kaitai-struct-compiler");

const names = fs.readdirSync(__dirname).filter((name) => name.endsWith(".ksy")).map((name) => name.slice(0, -4)).sort();
const specs = {};
for (const name of names) {
  specs[name] = yaml.load(fs.readFileSync(path.join(__dirname, name + ".ksy"), "utf8"));
}

async function main() {
  const files = { "specs.json": JSON.stringify(specs, null, 1) + "\n" };
  for (const [folder, positions] of [["plain", false], ["positions", true]]) {
    for (const name of names) {
      // Stubs are always read with positions.
      if (!positions && name.endsWith("_stubs")) continue;
      // The compiler changes what it is given, so it gets copies.
      const importer = { importYaml: async (wanted) => structuredClone(specs[wanted]) };
      const made = await compiler.compile("python", structuredClone(specs[name]), importer, positions).catch((error) => {
        throw new Error(`${name}.ksy: ${error.message || error}`);
      });
      files[`${folder}/${name}.py`] = made[`${name}.py`];
    }
  }
  process.stdout.write(JSON.stringify(files));
}

main().catch((error) => {
  process.stderr.write(String(error.message || error) + "\n");
  process.exit(1);
});

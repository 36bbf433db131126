// The rules for docstrings: those for documents, but for words that are the right ones beside code.
"use strict";

const { rules } = require("./textlintrc.json");

const RIGHT_HERE = [
    "all of",
    "All of",
    "type of",
    "number of",
    "a number of",
    "A number of",
    "at this time",
    "in between",
    "however",
    "evaluate",
    "remainder",
    "It is",
    "It was",
    "Requirement",
];
// Lines are broken anywhere.
const BROKEN = RIGHT_HERE.map((words) => words.replace(" ", "\n"));

module.exports = {
    rules: {
        ...rules,
        "write-good": { ...rules["write-good"], whitelist: [...rules["write-good"].whitelist, ...RIGHT_HERE, ...BROKEN] },
    },
};

// Finds lines of more than 100 columns. Tables, code, and a word that is longer by itself may be wider.
"use strict";

const COLUMNS = 100;

module.exports = (context) => {
    const { Syntax, RuleError, report, getSource, locator } = context;
    return {
        [Syntax.Paragraph](node) {
            let start = 0;
            getSource(node).split("\n").forEach((line, at) => {
                const indent = at === 0 ? node.loc.start.column : 0;
                if (indent + line.length > COLUMNS && /\S\s+\S/.test(line.replace(/!?\[[^\]]*\]\([^)]*\)/g, "link"))) {
                    report(node, new RuleError(`Wrap lines at ${COLUMNS} columns.`, { padding: locator.range([start, start + 1]) }));
                }
                start += line.length + 1;
            });
        },
    };
};

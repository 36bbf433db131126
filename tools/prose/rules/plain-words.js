// Finds sentences that a reader has to read twice. Each pattern is one that readers of these documents stumbled over.
"use strict";

const PATTERNS = [
    [/^(The same|As (?!a |an |an? \w+ you|long|soon|well|far|root)\w+)[, ]/, "Say what it is. Do not begin with \"The same\" or \"As\"."],
    [/^Of (?!course)/, "Begin with the subject, not with \"Of\"."],
    [/^What (?!is\b|are\b|does\b|do\b|to\b|you\b|can\b|must\b|happens\b|changed\b)[^?]*\bis of\b/, "Name the thing. Do not begin with \"What ... is of\"."],
    [/\b(which|that) nothing \w+s\b/, "Use an active verb: \"that ... is not verified\"."],
    [/\bof them\b.*\bof them\b/, "Say what \"them\" is."],
    [/\bno longer\b|\bused to\b|\bin the past\b|\bformerly\b/, "Say what is true now. History belongs in commit messages."],
    [/\bit had\b|\bthey had\b|\bit did\b|\bbefore this version\b/, "Say what is true now. History belongs in commit messages."],
    [/\bas it (is|was|were|stands)\b/, "Say how it is."],
    [/\b(hereof|thereof|therein|wherein|whereby|whilst|thereby)\b/i, "Use a plain word."],
    [/, of which\b|, whose [^,.]*,/, "Make two sentences."],
];

module.exports = (context) => {
    const { Syntax, RuleError, report, getSource, locator } = context;
    return {
        [Syntax.Paragraph](node) {
            const text = getSource(node);
            const sentences = text.matchAll(/[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]?/g);
            for (const found of sentences) {
                const lead = found[0].match(/^\s*/)[0].length;
                const sentence = found[0].trim().replace(/\s+/g, " ");
                for (const [pattern, advice] of PATTERNS) {
                    if (pattern.test(sentence)) {
                        const start = found.index + lead;
                        report(node, new RuleError(advice, { padding: locator.range([start, start + 1]) }));
                    }
                }
            }
        },
    };
};

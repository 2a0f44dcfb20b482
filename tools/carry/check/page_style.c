/* SPDX-License-Identifier: MIT */
/* Writes the head of the page: what it may load (nothing), and its styles, light and dark. */
#include "check/page_parts.h"
#include "common/html.h"

const char page_head[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; img-src data:\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n";

const char page_style[] =
    "<style>\n"
    ":root { color-scheme: light dark; --back: #fff; --card: #f6f8fa; --text: #1f2328;\n"
    "  --faint: #59636e; --line: #d1d9e0; --good: #1a7f37; --partial: #8a5a00; --bad: #c21c28;\n"
    "  --other: #59636e; --mark: #ffdf5d; --marked: #1f2328 }\n"
    "@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --card: #161b22;\n"
    "  --text: #e6edf3; --faint: #9da7b1; --line: #3d444d; --good: #3fb950; --partial: #d8a02c;\n"
    "  --bad: #ff7b72; --other: #9da7b1; --mark: #f2cc60; --marked: #0d1117 } }\n"
    "* { box-sizing: border-box }\n"
    "body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; background: var(--back);\n"
    "  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }\n"
    "h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem }\n"
    "h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; padding-top: 1rem;\n"
    "  border-top: 1px solid var(--line) }\n"
    "h3 { font-size: 1rem; margin: 0 0 .5rem }\n"
    "p, ul, dl { margin: .5rem 0 }\n"
    "ul { padding-left: 1.25rem }\n"
    ".outcome { font-size: 1.15rem; font-weight: 600 }\n"
    ".faint, caption, dt, th { color: var(--faint) }\n"
    ".good { color: var(--good) } .partial { color: var(--partial) }\n"
    ".bad { color: var(--bad) } .other { color: var(--other) }\n"
    ".fill-good { fill: var(--good) } .fill-partial { fill: var(--partial) }\n"
    ".fill-bad { fill: var(--bad) } .fill-other { fill: var(--other) }\n"
    ".wide { overflow-x: auto }\n"
    "table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }\n"
    "caption { text-align: left; padding-bottom: .5rem }\n"
    "th { font-weight: 500; text-align: left; vertical-align: top }\n"
    "th[scope=col] { vertical-align: bottom; overflow-wrap: normal }\n"
    "th[scope=row] { color: var(--text) }\n"
    "th, td { padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line) }\n"
    "th:last-child, td:last-child { padding-right: 0 }\n"
    "td { vertical-align: top }\n"
    ".number { text-align: right; white-space: nowrap }\n"
    ".share { width: 30% } .share svg { display: block; width: 100%; height: .8rem;\n"
    "  margin-top: .35rem }\n"
    ".chart svg { display: block; width: 100%; height: 9rem;\n"
    "  border-bottom: 1px solid var(--faint) }\n"
    ".chart .few { height: 4.5rem }\n"
    ".ends { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem;\n"
    "  font-size: .875rem; margin: .25rem 0 1rem }\n"
    ".cards { display: grid; gap: 1rem;\n"
    "  grid-template-columns: repeat(auto-fill, minmax(min(100%, 21.5rem), 1fr)) }\n"
    "article { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;\n"
    "  padding: .9rem 1rem; min-width: 0 }\n"
    "dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem .75rem; font-size: .85rem }\n"
    "dd { margin: 0 }\n"
    "code, pre { font: .8rem/1.5 ui-monospace, monospace }\n"
    "pre { margin: .75rem 0 0; overflow-x: auto; overflow-wrap: normal }\n"
    "mark { background: var(--mark); color: var(--marked); border-radius: .15rem }\n"
    ".legend { display: flex; flex-wrap: wrap; gap: 0 1rem }\n"
    "summary { cursor: pointer; color: var(--faint) }\n"
    "@media (max-width: 40rem) { .share { display: none }\n"
    "  th, td { padding-right: .5rem; font-size: .875rem } }\n"
    "@media print { body { max-width: none } article { break-inside: avoid } }\n"
    "</style>\n";

void page_write_head(FILE *out, const char *title) {
    fprintf(out, "%s<title>", page_head);
    html_text(out, title);
    fprintf(out, "</title>\n%s</head>\n<body>\n", page_style);
}

const char *page_verdict_class(unsigned verdict) {
    static const char *const classes[CARRY_VERDICT_COUNT] = {
        [CARRY_VERDICT_GOOD] = "good",
        [CARRY_VERDICT_BAD] = "bad",
        [CARRY_VERDICT_PARTIAL] = "partial",
        [CARRY_VERDICT_ILLEGAL] = "bad",
    };
    return classes[verdict] ? classes[verdict] : "other";
}

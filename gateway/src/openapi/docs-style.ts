/** The style sheet of the page. */
export const docsStyle = `
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5b6472;--paper:#fbfaf7;--card:#fff;--line:#e3ded4;--accent:#8a5a12}
@media (prefers-color-scheme:dark){:root{--ink:#ece7dc;--soft:#a49d90;--paper:#171512;--card:#211e19;--line:#3a352c;--accent:#e2b15c}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:3rem 1.25rem 6rem;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
h1{font-size:2.1rem;margin:0 0 .5rem;letter-spacing:-.02em}h2{margin:3rem 0 .25rem}h3{font-size:.95rem;margin:1.25rem 0 .4rem}
small,.what,.type,.access,section>p{color:var(--soft);font-weight:400}h1 small{font-size:1rem}
a{color:var(--accent)}nav{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;margin-top:1rem}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}
details{background:var(--card);border:1px solid var(--line);border-radius:.6rem;margin:.5rem 0}
summary{cursor:pointer;padding:.7rem 1rem;display:flex;flex-wrap:wrap;gap:.2rem .7rem;align-items:baseline}
summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:.6rem}
details>div{padding:0 1rem 1rem;border-top:1px solid var(--line);overflow-x:auto}
.method{font:700 .75rem ui-monospace,monospace;min-width:4rem;letter-spacing:.04em}
.get{color:#2b7a4b}.post{color:#2362a8}.patch{color:#9a6a00}.delete{color:#b3332e}
@media (prefers-color-scheme:dark){.get{color:#6cc694}.post{color:#7fb4ec}.patch{color:#e2b15c}.delete{color:#ef8b85}}
table{border-collapse:collapse;width:100%;font-size:.92rem}td{border-top:1px solid var(--line);padding:.35rem .6rem .35rem 0;vertical-align:top}
td:first-child{white-space:nowrap;width:1%;padding-right:1.2rem}td table{margin:.2rem 0 .4rem}
dl{margin:0}dt{margin-top:.5rem}dd{margin:0 0 0 1rem}b{font:700 .85rem ui-monospace,monospace}
`

/** The values of services/web/src/styles/tokens.css. */
export const docsStyle = `
:root{color-scheme:light dark;
--background:light-dark(#f1f4f3,#0f1618);--surface:light-dark(#fff,#172023);--sunken:light-dark(#e6ebe9,#0a1012);
--text:light-dark(#14201e,#e9efed);--muted:light-dark(#4a5956,#a6b5b1);--border:light-dark(#d3dbd8,#2a363a);--border-strong:light-dark(#74837f,#6f8081);
--primary:light-dark(#0b6659,#62d2ba);--primary-hover:light-dark(#084f45,#8be3d0);--on-primary:light-dark(#fff,#05211c);
--highlight:light-dark(#eba51e,#ffc857);--highlight-text:light-dark(#7a4f00,#ffd27a);--danger:light-dark(#ab2318,#ff9b91);
--mono:ui-monospace,'SF Mono','Cascadia Mono',Menlo,Consolas,monospace}
:root[data-theme=light]{color-scheme:light}:root[data-theme=dark]{color-scheme:dark}
*{box-sizing:border-box}
body{margin:0;background:var(--background);color:var(--text);font:400 .9375rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif;overflow-wrap:break-word}
.bar{border-bottom:1px solid var(--border);background:var(--surface)}
.bar>div,main,.intro{max-width:75rem;margin-inline:auto;padding-inline:clamp(1rem,3vw,2rem)}
.bar>div{display:flex;align-items:center;gap:1.5rem;min-height:4rem}
.wordmark{display:block;width:8.6rem;height:auto}.wordmark .stroke{fill:none;stroke:var(--text);stroke-width:3.1}.wordmark .mark{fill:var(--highlight)}
h1{font-size:1.75rem;font-weight:650;line-height:1.15;letter-spacing:-.02em;margin:2rem 0 .5rem}
h2{font-size:1.375rem;font-weight:650;letter-spacing:-.015em;margin:2.5rem 0 .25rem}h3{font-size:.9375rem;font-weight:650;margin:1.25rem 0 .4rem}
p{margin:0 0 .5rem}small,.what,.type,.access,.muted,section>p{color:var(--muted);font-weight:400}h1 small{font-size:.9375rem;letter-spacing:0}
a{color:var(--primary);text-underline-offset:.18em}a:hover{color:var(--primary-hover)}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:1rem 0}nav a{font-weight:600}
:focus-visible{outline:3px solid var(--highlight);outline-offset:2px;box-shadow:0 0 0 2px var(--text)}
code,pre,textarea,.method{font-family:var(--mono)}code{font-size:.92em;overflow-wrap:anywhere}
details{background:var(--surface);border:1px solid var(--border);border-radius:14px;margin:.5rem 0}
summary{cursor:pointer;padding:.75rem 1rem;display:flex;flex-wrap:wrap;gap:.2rem .75rem;align-items:baseline;border-radius:14px}
details>div{padding:0 1rem 1rem;border-top:1px solid var(--border);overflow-x:auto}
.method{font-size:.8125rem;font-weight:700;min-width:4rem}
.get{color:var(--primary)}.post,.put{color:light-dark(#1d5fa3,#86c5f4)}.patch{color:var(--highlight-text)}.delete{color:var(--danger)}
table{border-collapse:collapse;width:100%}td{border-top:1px solid var(--border);padding:.35rem .6rem .35rem 0;vertical-align:top}
td:first-child{white-space:nowrap;width:1%;padding-right:1.2rem}td table{margin:.2rem 0 .4rem}
dl{margin:0}dt{margin-top:.5rem}dd{margin:0 0 0 1rem}b{font:700 .85rem var(--mono)}
label{display:grid;gap:.25rem;font-weight:600;margin-bottom:.75rem}
input,textarea{width:100%;max-width:40rem;padding:.5rem .75rem;border:1px solid var(--border-strong);border-radius:8px;background:var(--surface);color:inherit;font-size:.9375rem}
textarea{min-height:9rem;resize:vertical}
button{min-height:2.75rem;padding:0 1.1rem;border:1px solid var(--primary);border-radius:8px;background:var(--primary);color:var(--on-primary);font:600 .9375rem/1 inherit;font-family:inherit;cursor:pointer}
button:hover{background:var(--primary-hover)}button[aria-busy=true]{opacity:.6}
pre{max-height:24rem;overflow:auto;margin:.75rem 0 0;padding:.75rem 1rem;border-radius:8px;background:var(--sunken);font-size:.8125rem;white-space:pre-wrap;overflow-wrap:anywhere}
.token{max-width:40rem}.try{margin-top:1.25rem;padding-top:.25rem;border-top:1px solid var(--border)}
td:first-child code{overflow-wrap:normal}
@media (max-width:40rem){td:first-child{white-space:normal;width:auto}}
@media print{.token,.try{display:none}}
`

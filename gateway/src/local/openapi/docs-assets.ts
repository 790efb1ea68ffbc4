/** Same as services/web/src/components/wordmark.tsx. */
export const wordmark = `<svg class="wordmark" viewBox="0 0 165 36" aria-hidden="true">
<path class="mark" d="M78 28v-7a6 6 0 0 1 12 0v7z" /><g class="stroke">
<path d="M16 13v15.5A6.5 6.5 0 0 1 4.6 32.9" /><circle cx="9" cy="20" r="7" /><circle cx="30" cy="20" r="7" />
<path d="M37 13v15" /><path d="M46 6v18a4 4 0 0 0 4 4h2M42 13h10" /><path d="M56.5 20h14a7 7 0 1 0-2.05 4.95" />
<path d="M78 5v23M78 21a6 6 0 0 1 12 0v7" /><circle cx="103" cy="20.5" r="7" /><path d="M116 13v8a6 6 0 0 0 12 0v-8M128 13v15" />
<path d="M143.4 15.3c-.9-1.5-2.5-2.3-4.4-2.3-2.5 0-4.3 1.4-4.3 3.6 0 4.9 9.2 2.6 9.2 7.5 0 2.4-2 3.9-4.7 3.9-2.2 0-4-.9-5-2.6" />
<path d="M149.5 20h13.8a7 7 0 1 0-2.05 4.95" /></g></svg>`

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

/** The content security policy allows this script by its hash. Theme and token come from the web app's storage. */
export const docsScript = `
const read = (key) => { try { return localStorage.getItem(key) } catch { return null } }
const theme = read('gatehouse_theme')
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme

const token = document.getElementById('token')
token.value = read('service_token') ?? ''

async function send(form) {
  const { method, path, access } = form.dataset
  const query = new URLSearchParams()
  let address = path
  for (const input of form.querySelectorAll('[data-in]')) {
    if (input.dataset.in === 'path') address = address.replace('{' + input.dataset.name + '}', encodeURIComponent(input.value))
    else if (input.value !== '') query.set(input.dataset.name, input.value)
  }
  const headers = { accept: 'application/json' }
  const used = token.value.trim()
  if (access === 'bearer' && used) headers.authorization = 'Bearer ' + used
  let body
  const json = form.querySelector('textarea')
  const file = form.querySelector('[type=file]')
  if (json) { headers['content-type'] = 'application/json'; body = json.value }
  if (file && file.files[0]) { body = new FormData(); body.append('file', file.files[0]) }
  const response = await fetch(query.size ? address + '?' + query : address, { method, headers, body, credentials: 'omit' })
  const line = response.status + ' ' + response.statusText
  if (!/json/.test(response.headers.get('content-type') ?? '')) return line + '\\n' + (await response.blob()).size + ' bytes'
  const reply = await response.json()
  // These end the token that was used for them. Other replies have a token of another kind: that of an invite, a proof.
  const renews = path.endsWith('/@me/change-password') || path.endsWith('/@me/sessions/end')
  if (response.ok && used && renews && typeof reply.token === 'string') keep(used, reply.token)
  return line + '\\n' + JSON.stringify(reply, null, 2)
}

function keep(used, next) {
  token.value = next
  if (read('service_token') === used) localStorage.setItem('service_token', next)
}

document.addEventListener('submit', async (event) => {
  event.preventDefault()
  const form = event.target
  const button = form.querySelector('button')
  const output = form.querySelector('pre')
  if (!button || button.getAttribute('aria-busy') === 'true') return
  if (form.dataset.method === 'DELETE' && !confirm('Send ' + form.dataset.method + ' ' + form.dataset.path + ' to this instance?')) return
  button.setAttribute('aria-busy', 'true')
  try { output.textContent = await send(form) } catch { output.textContent = 'No answer: this instance could not be reached.' }
  output.hidden = false
  button.removeAttribute('aria-busy')
})
`

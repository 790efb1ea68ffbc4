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

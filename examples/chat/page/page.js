// The page of the example: one script, without a build. It logs in by Gatehouse's API, stays connected to /ws, and asks the
// example's own routes for the rest.
const tokenKey = 'service_token' // the web app's: who is logged in there is logged in here
const typingMs = 5_000
const pageLength = 50

/** After these the session is over; after all others the page connects again. 4008: too many connections. */
const sessionEnds = {
  4003: 'Your session has ended. Please log in again.',
  4004: 'Your session has ended. Please log in again.',
  4005: 'This account has been deleted.',
  4010: 'Your password was reset. Log in with the new one.',
  4011: 'This account has been deleted.',
}

const element = Object.fromEntries([...document.querySelectorAll('[id]')].map((found) => [found.id, found]))
const opened = (channel) => ({ channel, messages: [], hasEarlier: false, typing: new Map(), draftSentAfter: null })
const start = () => ({ me: null, spaces: [], unread: new Set(), waiting: new Set(), ...opened(null) })
let state = start()
let socket = null
let attempt = 0
let timer

// Calls

class CallFailed extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

async function call(method, path, body) {
  const token = localStorage.getItem(tokenKey)
  const authorization = token && { authorization: `Bearer ${token}` }
  const headers = { ...authorization, ...(body && { 'content-type': 'application/json' }) }
  const response = await fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) }).catch(() => {
    throw new CallFailed(0, 'The instance cannot be reached.')
  })
  const answer = await response.json().catch(() => ({}))
  if (response.ok) return answer
  // The body of a proxy's 401 does not say so, and ends no session.
  const isRefused = response.status === 401 && answer.statusCode === 401
  if (isRefused && token && token === localStorage.getItem(tokenKey)) endSession(sessionEnds[4004])
  throw new CallFailed(response.status, answer.message ?? answer.error ?? 'This did not work.')
}

/** The service, or what leads to it, is away: the request may have been carried out. */
const isAway = (error) => error instanceof CallFailed && (error.status === 0 || error.status >= 500)

// The session

function endSession(message = '') {
  localStorage.removeItem(tokenKey)
  showLogin(message)
}

function showLogin(message) {
  clearTimeout(timer)
  const open = socket
  socket = null
  open?.close()
  state = start()
  element.space.close()
  element['login-message'].textContent = message
  element.login.hidden = false
  element.chat.hidden = true
}

function openSession() {
  element.login.hidden = true
  element.chat.hidden = false
  element.chat.dataset.view = 'spaces'
  attempt = 0
  render()
  connect()
}

// The socket

function connect() {
  clearTimeout(timer)
  showConnection('Connecting…')
  const opening = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/ws`)
  socket = opening
  opening.onopen = () => opening.send(JSON.stringify({ type: 'auth', token: localStorage.getItem(tokenKey) }))
  opening.onmessage = ({ data }) => {
    if (socket !== opening) return
    const event = JSON.parse(data)
    receive[event.type]?.(event)
  }
  opening.onclose = ({ code }) => {
    if (socket !== opening) return
    if (code in sessionEnds) return endSession(sessionEnds[code])
    if (code === 4008) return showConnection('Open in too many places')
    const delay = Math.min(30_000, 500 * 2 ** attempt) * (0.5 + Math.random() / 2)
    attempt += 1
    showConnection('Offline')
    timer = setTimeout(connect, delay)
  }
}

const receive = {
  ready(event) {
    attempt = 0
    state.me = event.user
    element.instance.textContent = event.instance.name
    showConnection('')
    // The chat did not give its part in time: it follows as `ready_part`, or the page asks for it.
    if (event.incomplete?.includes('chat')) return retry(loadSpaces)
    takeSpaces(event.spaces)
  },
  ready_part: ({ upstream, spaces }) => void (upstream === 'chat' && takeSpaces(spaces)),
  'chat.space': ({ space }) => takeSpaces([...state.spaces.filter(({ id }) => id !== space.id), space].sort(byId)),
  'chat.space_deleted': ({ spaceId }) => takeSpaces(state.spaces.filter(({ id }) => id !== spaceId)),
  'chat.message'({ message }) {
    state.typing.delete(message.author.id)
    if (message.channelId !== state.channel?.id) {
      state.unread.add(message.channelId)
      return renderSpaces()
    }
    const misses = message.previousId && !state.messages.some(({ id }) => id === message.previousId)
    if (misses) return retry(catchUp)
    addMessages([message])
  },
  'chat.message_deleted'({ messageId }) {
    state.messages = state.messages.filter(({ id }) => id !== messageId)
    renderMessages()
  },
  // What the account wrote is deleted, or has another name: the database knows.
  'chat.user_deleted'({ userId }) {
    state.typing.delete(userId)
    if (state.channel) retry(loadMessages)
  },
  'chat.typing'({ channelId, userId, username }) {
    if (channelId !== state.channel?.id) return
    const known = state.messages.findLast(({ author }) => author.id === userId)
    state.typing.set(userId, { name: known?.author.name ?? username, until: Date.now() + typingMs })
    renderTyping()
    setTimeout(renderTyping, typingMs + 50)
  },
}

/** Repeats a read until the chat answers. */
async function retry(read) {
  const session = state
  for (let delay = 500; state === session && !session.waiting.has(read); delay = Math.min(8_000, delay * 2)) {
    try {
      await read()
      if (socket?.readyState === WebSocket.OPEN) showConnection('')
      return
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error
      if (!isAway(error) || state !== session) return
      showConnection('The chat does not answer')
      session.waiting.add(read) // the same read, asked for meanwhile, is this one
      await new Promise((resolve) => setTimeout(resolve, delay))
      session.waiting.delete(read)
    }
  }
}

// Spaces and channels

const loadSpaces = async () => takeSpaces((await call('GET', '/api/spaces')).spaces)

function takeSpaces(spaces) {
  state.spaces = spaces
  const wanted = state.channel?.id ?? location.hash.slice(1)
  const channels = spaces.flatMap((space) => space.channels.map((channel) => ({ ...channel, space })))
  const found = channels.find(({ id }) => id === wanted)
  const isOpen = found && found.id === state.channel?.id
  state.channel = found ?? null
  if (!found) {
    state.messages = []
    element.chat.dataset.view = 'spaces'
  }
  render()
  if (found) retry(isOpen && state.messages.length > 0 ? catchUp : loadMessages)
  if (element.space.open) void showMembers()
}

function openChannel(channel) {
  element.chat.dataset.view = 'channel'
  if (state.channel?.id === channel.id) return
  Object.assign(state, opened(channel))
  state.unread.delete(channel.id)
  history.replaceState(null, '', `#${channel.id}`)
  element['message-error'].textContent = ''
  render()
  retry(loadMessages)
}

// Messages

const byId = (one, other) => one.id.length - other.id.length || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0)
const messagesOf = (channel, query = '') => call('GET', `/api/channels/${channel.id}/messages${query}`)

async function loadMessages() {
  const { channel } = state
  if (!channel) return
  const { messages } = await messagesOf(channel)
  if (state.channel?.id !== channel.id) return
  Object.assign(state, { messages: [], hasEarlier: messages.length === pageLength })
  addMessages(messages)
}

/** Reads what came after the last message that is known. */
async function catchUp() {
  const { channel } = state
  const last = state.messages.at(-1)
  if (!channel || !last) return loadMessages()
  const { messages } = await messagesOf(channel, `?after=${last.id}`)
  if (state.channel?.id !== channel.id) return
  addMessages(messages)
  if (messages.length === pageLength) await catchUp()
}

async function loadEarlier() {
  const { channel } = state
  const { messages } = await messagesOf(channel, `?before=${state.messages[0].id}`)
  if (state.channel?.id !== channel.id) return
  state.hasEarlier = messages.length === pageLength
  addMessages(messages)
}

function addMessages(added) {
  const all = new Map([...state.messages, ...added].map((message) => [message.id, message]))
  state.messages = [...all.values()].sort(byId)
  renderMessages()
  renderTyping()
}

async function send(text) {
  const { channel } = state
  const path = `/api/channels/${channel.id}/messages`
  // The last attempt had no answer: the message may be there all the same.
  if (state.draftSentAfter?.text === text) {
    await catchUp()
    const { id } = state.draftSentAfter
    const isThere = (message) => message.author.id === state.me.id && message.text === text && byId({ id }, message) < 0
    if (state.messages.some(isThere)) return
  }
  try {
    const message = await call('POST', path, { text })
    state.draftSentAfter = null
    if (state.channel?.id === channel.id) addMessages([message])
  } catch (error) {
    if (isAway(error)) {
      state.draftSentAfter = { text, id: state.messages.at(-1)?.id ?? '0' }
      retry(catchUp)
    }
    throw error
  }
}

// What is shown

function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

const showConnection = (text) => void (element.connection.textContent = text)

function render() {
  const { me, channel } = state
  element.me.textContent = me ? (me.displayName ?? me.username) : ''
  element.title.textContent = channel ? `# ${channel.name}` : 'No channel'
  element['open-space'].hidden = !channel
  element['message-form'].hidden = !channel
  document.title = channel ? `${channel.name} · ${channel.space.name}` : 'Chat'
  renderSpaces()
  renderMessages()
  renderTyping()
}

function renderSpaces() {
  const { spaces, channel, unread } = state
  const shown = spaces.flatMap((space) => [
    make('h2', { textContent: space.name }),
    ...space.channels.map((one) => {
      const button = make('button', { textContent: `# ${one.name}`, className: unread.has(one.id) ? 'unread' : '' })
      button.ariaCurrent = String(one.id === channel?.id)
      button.onclick = () => openChannel({ ...one, space })
      return button
    }),
  ])
  const hint = 'You are in no space yet. Create one, or ask to be added.'
  const none = make('p', { className: 'muted', textContent: hint })
  element.spaces.replaceChildren(...(shown.length > 0 ? shown : [none]))
}

function renderMessages() {
  const { log } = element
  const wasAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80
  const before = log.scrollHeight - log.scrollTop
  const earlier = make('button', { textContent: 'Earlier messages', className: 'plain' })
  earlier.onclick = () => act('message-error', loadEarlier)
  const posts = state.messages.map(renderMessage)
  const none = make('p', { className: 'muted', textContent: 'Nobody has written here yet.' })
  const shown = posts.length > 0 ? posts : state.channel ? [none] : []
  log.replaceChildren(...(state.hasEarlier ? [earlier] : []), ...shown)
  log.scrollTop = wasAtEnd ? log.scrollHeight : log.scrollHeight - before
}

function renderMessage({ id, author, text, createdAt }) {
  const avatar = make('span', { className: 'avatar', textContent: [...author.name][0]?.toUpperCase() ?? '' })
  avatar.dataset.color = author.avatarColor ?? ''
  avatar.ariaHidden = 'true'
  const at = new Date(createdAt)
  const time = make('time', { dateTime: at.toISOString(), textContent: at.toLocaleString([], { timeStyle: 'short' }) })
  time.title = at.toLocaleString()
  const head = make('div', { className: 'head' }, make('strong', { textContent: author.name }), time)
  if (author.id === state.me?.id) head.append(makeDeleteButton(id))
  return make('article', { className: 'post' }, avatar, make('div', {}, head, make('p', { textContent: text })))
}

function makeDeleteButton(messageId) {
  const button = make('button', { textContent: 'Delete', className: 'plain', ariaLabel: 'Delete this message' })
  const path = `/api/channels/${state.channel.id}/messages/${messageId}`
  button.onclick = () =>
    act('message-error', async () => {
      await call('DELETE', path)
      receive['chat.message_deleted']({ messageId })
    })
  return button
}

function renderTyping() {
  const typing = [...state.typing.values()].filter(({ until }) => until > Date.now()).map(({ name }) => name)
  const names = typing.slice(0, 3).join(', ')
  element.typing.textContent = names && `${names} ${typing.length > 1 ? 'are' : 'is'} typing…`
}

async function showMembers() {
  const { space } = state.channel ?? {}
  if (!space) return element.space.close()
  element['space-title'].textContent = space.name
  element['owner-part'].hidden = space.ownerId !== state.me.id
  await act('space-error', async () => {
    const { members } = await call('GET', `/api/spaces/${space.id}/members`)
    const items = members.map(({ name, username }) => make('li', { textContent: `${name} (@${username})` }))
    element.members.replaceChildren(...items)
  })
}

// What people do

/** Runs what somebody asked for, and shows why it failed. */
async function act(where, work) {
  element[where].textContent = ''
  try {
    await work()
    return true
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error
    const more = isAway(error) && where === 'message-error' ? ' Your message is still here: send it again.' : ''
    element[where].textContent = error.message + more
    return false
  }
}

/** One submission at a time; the form is emptied when it succeeded. */
function onSubmit(form, where, work) {
  let isBusy = false
  element[form].onsubmit = async (event) => {
    event.preventDefault()
    if (isBusy) return
    isBusy = true
    const fields = Object.fromEntries(new FormData(element[form]))
    if (await act(where, () => work(fields))) element[form].reset()
    isBusy = false
  }
}

onSubmit('login-form', 'login-message', async (fields) => {
  const { token } = await call('POST', '/api/auth/login', fields)
  localStorage.setItem(tokenKey, token)
  openSession()
})
onSubmit('space-form', 'new-space-error', async ({ name }) => {
  const space = await call('POST', '/api/spaces', { name })
  receive['chat.space']({ space })
  openChannel({ ...space.channels[0], space })
})
onSubmit('member-form', 'space-error', ({ username }) =>
  call('POST', `/api/spaces/${state.channel.space.id}/members`, { username }),
)
onSubmit('channel-form', 'space-error', ({ name }) =>
  call('POST', `/api/spaces/${state.channel.space.id}/channels`, { name }),
)
onSubmit('message-form', 'message-error', ({ text }) => send(text.trim()))

let typedAt = 0
element['message-form'].elements.text.oninput = () => {
  if (Date.now() - typedAt < typingMs / 2 || socket?.readyState !== WebSocket.OPEN || !state.channel) return
  typedAt = Date.now()
  socket.send(JSON.stringify({ type: 'chat.typing', channelId: state.channel.id }))
}
element['message-form'].elements.text.onkeydown = (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  element['message-form'].requestSubmit()
}
element.back.onclick = () => void (element.chat.dataset.view = 'spaces')
element['log-out'].onclick = () => endSession()
element['open-space'].onclick = () => {
  element.space.showModal()
  void showMembers()
}
element['close-space'].onclick = () => element.space.close()
element['delete-space'].onclick = () => {
  const { space } = state.channel
  if (!confirm(`Delete ${space.name} with all its messages?`)) return
  void act('space-error', () => call('DELETE', `/api/spaces/${space.id}`))
}
// Another tab has logged in or out.
addEventListener('storage', ({ key }) => {
  if (key === tokenKey || key === null) location.reload()
})
addEventListener('online', () => {
  if (socket?.readyState === WebSocket.CLOSED) connect()
})

if (localStorage.getItem(tokenKey)) openSession()
else showLogin('')

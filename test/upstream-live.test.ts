import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { eventually, startNats } from '@gatehouse/test-kit'
import { connectUpstream } from '@gatehouse/upstream'
import { expect } from 'chai'
import { connect, type NatsConnection } from 'nats'
import { WebSocket } from 'ws'
import { startInstance } from './instance.ts'

const chat = {
  name: 'chat',
  origins: ['http://127.0.0.1:9000'],
  routes: [],
  messages: ['chat.'],
  ready: ['spaces', 'dmChannels'],
  events: ['UserCreated'],
}

/** With NATS alone, as docs/integrate has it for any language. */
describe('an upstream beside an embedded instance', () => {
  const scope = new AsyncDisposableStack()
  let file: string

  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-upstreams-'))
    scope.defer(() => rm(folder, { recursive: true }))
    file = join(folder, 'upstreams.yaml')
    await writeFile(file, JSON.stringify({ upstreams: [chat] }))
  })
  after(() => scope.disposeAsync())

  it('fills ready, gets messages and events, and delivers, over the NATS of NATS_URL, also after its crash', async () => {
    const server = scope.use(await startNats())
    const { url } = server
    const instance = scope.use(await startInstance({ NATS_URL: url, GATEHOUSE_UPSTREAMS: file }))
    const nats = await connect({ servers: url })
    const received: Record<string, unknown>[] = []
    answer(nats, 'ready', () => documented('part of ready'))
    answer(nats, 'message', (message) => {
      received.push(message)
      const delivery = { ...documented('delivery'), to: { users: [message.userId] } }
      nats.publish('gatehouse.upstream.chat.deliver', JSON.stringify(delivery))
      return { ok: true }
    })
    await nats.flush()

    const { token, user } = await register(instance.url, 'alice')
    const { socket, messages } = await openSocket(instance.url, token)
    const ready = await eventually('ready', () => messages[0])
    const message = documented('message')
    socket.send(JSON.stringify(message.message))
    await eventually('the answer', () => messages.length > 1)
    const event = await pullEvent(nats, 'UserCreated')

    expect(ready).to.deep.include({ type: 'ready', ...documented('part of ready') })
    expect(received).to.have.length(1)
    expect(received[0]).to.have.all.keys(Object.keys(message))
    expect(received[0]).to.deep.include({ userId: user.id, username: 'alice', message: message.message })
    expect(messages.slice(1)).to.deep.equal([documented('delivery').message])
    expect(event).to.include({ userId: user.id, origin: 'local' })
    await nats.close()

    // The same after a crash of NATS, with the package.
    await using live = await connectUpstream({ natsUrl: url, name: 'chat', onError: () => undefined })
    const created: unknown[] = []
    live.onEvent(['UserCreated'], ({ payload }) => void created.push(payload.userId))
    live.onMessage(({ sessionId }) => live.deliver({ sessions: [sessionId] }, { type: 'chat.after' }))
    await server.kill()
    await server.start()
    const other = await register(instance.url, 'bob')
    await eventually('the event', () => created.includes(other.user.id), 30_000)
    await eventually(
      'an answer',
      () => {
        socket.send('{"type":"chat.again"}')
        return messages.some(({ type }) => type === 'chat.after')
      },
      30_000,
    )
    socket.terminate()
  })

  it('has the instance refuse to start without NATS_URL, in one line', async () => {
    const refused = await startInstance({ GATEHOUSE_UPSTREAMS: file }).catch((error: unknown) => error)

    expect(refused).to.have.property('name', 'ConfigurationError')
    expect((refused as Error).message).to.match(/^NATS_URL: is needed.*$/)
  })
})

/** A JSON example of docs/integrate/live-messages-and-events.md. */
function documented(name: string): Record<string, unknown> {
  const page = readFileSync(resolve(import.meta.dirname, '../docs/integrate/live-messages-and-events.md'), 'utf8')
  const [, json] = new RegExp(`<!-- ${name} -->\\s+\`\`\`json\\n([^\`]+)\`\`\``).exec(page) ?? []
  if (json === undefined) throw new Error(`docs/integrate/live-messages-and-events.md has no example of the ${name}`)
  return JSON.parse(json) as Record<string, unknown>
}

function answer(nats: NatsConnection, kind: string, reply: (question: Record<string, unknown>) => object): void {
  nats.subscribe(`gatehouse.upstream.chat.${kind}`, {
    queue: 'chat',
    callback: (_, message) => void message.respond(JSON.stringify(reply(message.json()))),
  })
}

/** The next event of a durable consumer, acknowledged. */
async function pullEvent(nats: NatsConnection, name: string): Promise<Record<string, unknown>> {
  const subject = `$JS.API.CONSUMER.MSG.NEXT.gatehouse-changes.upstream_chat_${name}`
  // It comes under the subject of the event: to a subscription of its own.
  const message = await nats.request(subject, JSON.stringify(documented('pull')), { timeout: 6_000, noMux: true })
  message.respond('+ACK')
  return message.json()
}

async function register(url: string, username: string) {
  const response = await fetch(`${url}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: 'a long enough password' }),
  })
  expect(response.status).to.equal(201)
  return (await response.json()) as { token: string; user: { id: string } }
}

async function openSocket(url: string, token: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`)
  const messages: Record<string, unknown>[] = []
  socket.on('message', (data) => void messages.push(JSON.parse(String(data)) as Record<string, unknown>))
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'auth', token }))
  return { socket, messages }
}

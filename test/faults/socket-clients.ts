import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { History } from './history.ts'
import { pick, type InstanceClient } from './instance-client.ts'
import type { TestUser } from './users.ts'

export type SocketClient = { person: TestUser; isReady(): boolean; stop(): void }

/** By default at any gateway, with a ping every three seconds. */
type Options = { gateway?: string; pingMs?: number; onMessage?: (type: string) => void }

const silenceMs = 8_000

/** Keeps one socket open, as a client does: it reconnects after each close, until it is stopped. */
export function startSocketClient(
  instance: InstanceClient,
  history: History,
  person: TestUser,
  { gateway, pingMs = 3_000, onMessage = () => undefined }: Options = {},
): SocketClient {
  const stopping = new AbortController()
  let ready = false
  let socket: WebSocket | undefined

  async function keepOpen(): Promise<void> {
    while (!stopping.signal.aborted) {
      await connectOnce()
      ready = false
      await pause(200 + Math.random() * 300)
    }
  }

  async function connectOnce(): Promise<void> {
    const url = gateway ?? pick(instance.gateways)
    socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { handshakeTimeout: 5_000 })
    const opened = socket
    opened.on('error', () => undefined)
    opened.once('open', () => opened.send(JSON.stringify({ type: 'auth', token: person.token })))
    let receivedAt = performance.now()
    opened.on('message', (data: Buffer) => {
      receivedAt = performance.now()
      const { type } = JSON.parse(data.toString()) as { type: string }
      onMessage(type)
      if (type !== 'ready') return
      ready = true
      history.count('handshakes to ready')
    })
    // A frozen gateway answers no ping: the client reconnects.
    const heartbeat = setInterval(() => {
      if (performance.now() - receivedAt > silenceMs) opened.terminate()
      else if (ready && opened.readyState === WebSocket.OPEN) opened.send(JSON.stringify({ type: 'ping' }))
    }, pingMs)
    await new Promise((resolve) => opened.once('close', resolve))
    clearInterval(heartbeat)
  }

  void keepOpen()
  return {
    person,
    isReady: () => ready && socket?.readyState === WebSocket.OPEN,
    stop() {
      stopping.abort()
      socket?.terminate()
    },
  }
}

/** Users whose shown status is wrong: online with an open socket, offline without. Contract: 6, status. */
export async function findWrongPresence(
  instance: InstanceClient,
  reader: TestUser,
  clients: readonly SocketClient[],
): Promise<string[]> {
  const wrong: string[] = []
  for (const { person, isReady } of clients) {
    const answer = await instance.call('GET', `/api/users/${person.id}`, { token: reader.token })
    const expected = isReady() ? 'online' : 'offline'
    if (answer?.body.status !== expected)
      wrong.push(`${person.username} is ${expected} and shown as ${String(answer?.body.status)}`)
  }
  return wrong
}

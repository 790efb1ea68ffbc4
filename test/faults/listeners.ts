import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { History } from './history.ts'
import { pick, type Instance } from './instance.ts'
import type { Person } from './people.ts'

export type Listener = { person: Person; isReady(): boolean; leave(): void }

const PING_MS = 3_000
const SILENCE_MS = 8_000

/** Keeps one live connection, as a client does: again after each end of it, until it leaves. */
export function listen(instance: Instance, history: History, person: Person): Listener {
  let wanted = true
  let ready = false
  let socket: WebSocket | undefined

  async function keepOpen(): Promise<void> {
    while (wanted) {
      await connectOnce()
      ready = false
      if (wanted) await pause(200 + Math.random() * 300)
    }
  }

  async function connectOnce(): Promise<void> {
    socket = new WebSocket(`${pick(instance.gateways).replace('http', 'ws')}/ws`, { handshakeTimeout: 5_000 })
    const opened = socket
    opened.on('error', () => undefined)
    opened.once('open', () => opened.send(JSON.stringify({ type: 'auth', token: person.token })))
    let heardAt = performance.now()
    opened.on('message', (data: Buffer) => {
      heardAt = performance.now()
      const { type } = JSON.parse(data.toString()) as { type: string }
      if (type !== 'ready') return
      ready = true
      history.count('handshakes to ready')
    })
    // A gateway that froze answers no ping: a client leaves it.
    const heartbeat = setInterval(() => {
      if (performance.now() - heardAt > SILENCE_MS) opened.terminate()
      else if (opened.readyState === WebSocket.OPEN) opened.send(JSON.stringify({ type: 'ping' }))
    }, PING_MS)
    await new Promise((resolve) => opened.once('close', resolve))
    clearInterval(heartbeat)
  }

  void keepOpen()
  return {
    person,
    isReady: () => ready && socket?.readyState === WebSocket.OPEN,
    leave() {
      wanted = false
      socket?.terminate()
    },
  }
}

/** Whether everybody is shown as they are: those who listen online, those who left offline. Contract: 6. */
export async function findWrongPresence(
  instance: Instance,
  asker: Person,
  listeners: readonly Listener[],
): Promise<string[]> {
  const wrong: string[] = []
  for (const { person, isReady } of listeners) {
    const answer = await instance.call('GET', `/api/users/${person.id}`, { token: asker.token })
    const expected = isReady() ? 'online' : 'offline'
    if (answer?.body.status !== expected)
      wrong.push(`${person.username} is ${expected} and shown as ${String(answer?.body.status)}`)
  }
  return wrong
}

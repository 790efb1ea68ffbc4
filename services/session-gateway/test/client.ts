import type { Socket } from 'node:net'
import { callerHeader, createCallerKey, signCaller } from '@gatehouse/auth'
import { eventually } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'
import { internalSecret } from './harness.ts'

export type Message = { type: string; [field: string]: unknown }
export type Closing = { code: number; reason: string }

/** A client as the gateway would bring it in. */
export type Client = {
  socket: WebSocket
  messages: Message[]
  closed: Promise<Closing>
  send(message: unknown): void
  /** In one piece, so that they are read in one turn. */
  sendTogether(...messages: unknown[]): void
  /** The next message of a type that has not been taken yet. */
  take(type: string): Promise<Message>
  close(): Promise<Closing>
}

/** Opens a socket; rejects with the status when the upgrade is refused. */
export async function connect(url: string, options: { address?: string; headers?: object } = {}): Promise<Client> {
  const key = createCallerKey(internalSecret)
  const statement = signCaller(key, { address: options.address ?? '192.0.2.1', account: null }, Date.now())
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
    headers: { [callerHeader]: statement, ...options.headers },
  })
  const messages: Message[] = []
  socket.on('message', (data) => messages.push(JSON.parse(String(data)) as Message))
  const closed = new Promise<Closing>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }))
  })
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve)
    socket.on('unexpected-response', (_request, response) => reject(new Error(`refused: ${response.statusCode}`)))
    socket.on('error', reject)
  })
  return {
    socket,
    messages,
    closed,
    send: (message) => socket.send(JSON.stringify(message)),
    sendTogether(...together) {
      const { _socket: connection } = socket as unknown as { _socket: Socket }
      connection.cork()
      for (const message of together) socket.send(JSON.stringify(message))
      connection.uncork()
    },
    async take(type) {
      const message = await eventually(`a message of type ${type}`, () => messages.find((each) => each.type === type))
      messages.splice(messages.indexOf(message), 1)
      return message
    },
    close() {
      socket.close(1000)
      return closed
    },
  }
}

/** Connects and authenticates; the `ready` message is taken already. */
export async function signIn(url: string, token: string): Promise<Client & { ready: Message }> {
  const client = await connect(url)
  client.send({ type: 'auth', token })
  const ready = await Promise.race([client.take('ready'), failOnClose(client)])
  return { ...client, ready }
}

async function failOnClose(client: Client): Promise<never> {
  const { code, reason } = await client.closed
  throw new Error(`closed with ${code} ${reason}`)
}

/** Three who offer the same token over and over, each as soon as they were turned away, until told to stop. */
export function keepKnocking(url: string, token: string): { stop(): Promise<void> } {
  let isKnocking = true
  const knock = async () => {
    while (isKnocking) {
      const client = await connect(url)
      client.send({ type: 'auth', token })
      await client.closed
    }
  }
  const knocking = Promise.all([knock(), knock(), knock()])
  return {
    async stop() {
      isKnocking = false
      await knocking
    },
  }
}

import type { Socket } from 'node:net'
import { callerHeader } from '@gatehouse/auth'
import { eventually, signTestCaller } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'

export type Message = { type: string; [field: string]: unknown }
export type Closing = { code: number; reason: string }

/** A client as the gateway forwards it. */
export type Client = {
  socket: WebSocket
  messages: Message[]
  closed: Promise<Closing>
  send(message: unknown): void
  /** In one piece, so that they are read in one turn. */
  sendTogether(...messages: unknown[]): void
  /** The next message of a type that has not been taken yet. */
  take(type: string): Promise<Message>
  /** Everything that was sent to the client until now has arrived. */
  synchronize(): Promise<void>
  /** Stops reading, as if its machine were gone or its program hung. */
  freeze(): void
  unfreeze(): void
  /** Ends its side of the connection, as a gateway that stops. */
  end(): void
  close(): Promise<Closing>
}

/** Opens a socket; rejects with the status when the upgrade is refused. */
export async function connect(url: string, options: { address?: string; headers?: object } = {}): Promise<Client> {
  const address = options.address ?? '192.0.2.1'
  const caller = signTestCaller('session-gateway', { address, account: null }, Date.now())
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
    headers: { [callerHeader]: caller, ...options.headers },
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
  const connection = () => (socket as unknown as { _socket: Socket })._socket
  const take = async (type: string) => {
    const message = await eventually(`a message of type ${type}`, () => messages.find((each) => each.type === type))
    messages.splice(messages.indexOf(message), 1)
    return message
  }
  return {
    socket,
    messages,
    closed,
    take,
    send: (message) => socket.send(JSON.stringify(message)),
    sendTogether(...together) {
      connection().cork()
      for (const message of together) socket.send(JSON.stringify(message))
      connection().uncork()
    },
    async synchronize() {
      socket.send('{"type":"ping"}')
      await take('pong')
    },
    freeze: () => void connection().pause(),
    unfreeze: () => void connection().resume(),
    end: () => void connection().end(),
    close() {
      socket.close(1000)
      return closed
    },
  }
}

/** Connects and authenticates; the `ready` message is taken already. */
export async function signIn(url: string, token: string, more: object = {}): Promise<Client & { ready: Message }> {
  const client = await connect(url)
  client.send({ type: 'auth', token, ...more })
  const ready = await Promise.race([client.take('ready'), failOnClose(client)])
  return { ...client, ready }
}

async function failOnClose(client: Client): Promise<never> {
  const { code, reason } = await client.closed
  throw new Error(`closed with ${code} ${reason}`)
}

/** Three clients that offer the same token again as soon as they are refused, until stopped. */
export function retryForever(url: string, token: string): { stop(): Promise<void> } {
  let isStopped = false
  const retry = async () => {
    while (!isStopped) {
      const client = await connect(url)
      client.send({ type: 'auth', token })
      await client.closed
    }
  }
  const retrying = Promise.all([retry(), retry(), retry()])
  return {
    async stop() {
      isStopped = true
      await retrying
    },
  }
}

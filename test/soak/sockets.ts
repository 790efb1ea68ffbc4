import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { Random } from '../fuzz/random.ts'
import type { Ledger } from './ledger.ts'

const readyLimitMs = 30_000
const replyLimitMs = 20_000

/** One person's socket, which comes and goes. */
export function createSocketOf(gateways: readonly string[], { ledger, random }: { ledger: Ledger; random: Random }) {
  let socket: WebSocket | undefined
  let said = 0

  /** The next message that is `type`. Throws where none comes. */
  async function next(type: string, limitMs: number): Promise<Record<string, unknown>> {
    const signal = AbortSignal.timeout(limitMs)
    const opened = socket!
    const ended = once(opened, 'close', { signal }).then(([code]) => {
      throw new Error(`the socket was closed with ${code} before "${type}"`)
    })
    const reply = new Promise<Record<string, unknown>>((resolve) => {
      const listen = (data: Buffer) => {
        const message = JSON.parse(data.toString()) as Record<string, unknown>
        if (message.type !== type) return
        opened.off('message', listen)
        resolve(message)
      }
      opened.on('message', listen)
    })
    return await Promise.race([reply, ended])
  }

  const close = async (): Promise<void> => {
    const closing = socket
    socket = undefined
    if (!closing || closing.readyState === WebSocket.CLOSED) return
    const closed = once(closing, 'close')
    closing.close()
    await closed
  }
  return {
    isOpen: () => socket?.readyState === WebSocket.OPEN,
    async open(token: string): Promise<void> {
      await close()
      socket = new WebSocket(`${random.pick(gateways).replace('http', 'ws')}/ws`)
      socket.on('error', () => undefined)
      const opened = socket
      opened.once('open', () => opened.send(JSON.stringify({ type: 'auth', token })))
      await next('ready', readyLimitMs)
      ledger.count('sockets ready')
    },
    /** To the upstream, and back. */
    async say(): Promise<void> {
      said += 1
      const replied = next('reply', replyLimitMs)
      socket!.send(JSON.stringify({ type: 'chat.say', ref: String(said), n: said }))
      const { reply } = await replied
      if ((reply as { n?: unknown } | undefined)?.n !== said) throw new Error('another message was answered')
      ledger.count('messages answered by the upstream')
    },
    close,
  }
}
export type SocketOf = ReturnType<typeof createSocketOf>

import { connect, type Socket } from 'node:net'

/** A connection to a replica; undefined when there is none within the time. Never rejects. */
export async function connectReplica(origin: string, timeoutMs: number): Promise<Socket | undefined> {
  const { hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  return await new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || 80), noDelay: true })
    const giveUp = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(undefined)
    }
    const timer = setTimeout(giveUp, timeoutMs)
    socket.once('error', giveUp)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', giveUp)
      resolve(socket)
    })
  })
}

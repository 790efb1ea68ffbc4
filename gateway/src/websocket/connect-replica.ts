import { connect, type Socket } from 'node:net'

/** Undefined after the time limit. Never rejects. */
export async function connectReplica(origin: string, timeoutMs: number): Promise<Socket | undefined> {
  const { hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  return await new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || 80), noDelay: true })
    const fail = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(undefined)
    }
    const timer = setTimeout(fail, timeoutMs)
    socket.once('error', fail)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', fail)
      resolve(socket)
    })
  })
}

import { connect, type Socket } from 'node:net'
import type { Cluster } from '../../deploy/cluster/cluster.ts'
import type { TokenOutcome } from './clients.ts'

/** A request whose last byte is still missing. */
export type HeldRequest = { name: string; sendLastByte(): Promise<TokenOutcome> }

const body = '{"bio":"written with a revoked token"}'
const timeoutMs = 10_000

/** Sends a change of the own profile to every gateway but for the last byte. */
export async function holdRequests(cluster: Cluster, token: string): Promise<HeldRequest[]> {
  return await Promise.all(cluster.gateways.map((url, index) => holdRequest(url, token, `gateway ${index}, held body`)))
}

async function holdRequest(url: string, token: string, name: string): Promise<HeldRequest> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const answer = readAnswer(socket)
  const head = [
    'PATCH /api/users/@me HTTP/1.1',
    `Host: ${hostname}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, -1)}`, () => resolve())
  })
  return {
    name,
    sendLastByte: async () => {
      if (!socket.destroyed) socket.write(body.slice(-1))
      const [, status] = /^HTTP\/1.1 (\d+) /.exec(await answer) ?? []
      if (status === '200') return 'accepted'
      return status === '401' ? 'refused' : 'unavailable'
    },
  }
}

/** What the gateway sends until it closes the connection; what there is of it when that takes too long. */
async function readAnswer(socket: Socket): Promise<string> {
  return await new Promise((resolve) => {
    let answer = ''
    socket.setTimeout(timeoutMs, () => socket.destroy())
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
    socket.on('error', () => socket.destroy())
    socket.once('close', () => resolve(answer))
  })
}

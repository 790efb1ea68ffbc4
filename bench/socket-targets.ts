import { fork } from 'node:child_process'
import { once } from 'node:events'
import { callerHeader, createSigningKeys, signCaller } from '@gatehouse/auth'
import { WebSocket } from 'ws'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import type { SocketTarget } from './socket-pool.ts'
import type { BenchUser } from './socket-users.ts'

/** A session gateway, with clients as the gateway forwards them, each from another address: the limit for one is not measured. */
export function sessionTarget({ processes, environment }: Cluster, node: number): SocketTarget {
  const { url } = processes.filter(({ service }) => service === 'session-gateway')[node]!
  return { url: `${url.replace('http', 'ws')}/ws`, headers: forwardedAs(environment.INTERNAL_SECRET!) }
}

/** The headers by which a gateway with this secret forwards a client without an account. */
export function forwardedAs(secret: string): SocketTarget['headers'] {
  const key = createSigningKeys('gateway', secret)
  const options = { issuer: 'bench', audience: 'session-gateway' }
  return (place) => ({
    [callerHeader]: signCaller(key, { address: addressOf(place), account: null }, { ...options, now: Date.now() }),
  })
}

/** The gateway in front of all session gateways. It has to trust this machine as a proxy. */
export function gatewayTarget({ gateways }: Cluster): SocketTarget {
  const headers = (place: number) => ({ 'x-forwarded-for': addressOf(place) })
  return { url: `${gateways[0]!.replace('http', 'ws')}/ws`, headers }
}

/** Another client address for each place. */
export function addressOf(place: number): string {
  return `10.${place >> 16}.${(place >> 8) & 255}.${place & 255}`
}

/** The `ready` of a user, as the text that the first session gateway sends. */
export async function learnReady(cluster: Cluster, user: BenchUser): Promise<string> {
  const target = sessionTarget(cluster, 0)
  const socket = new WebSocket(target.url, { headers: target.headers(0) })
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'auth', token: user.token }))
  const [data] = (await once(socket, 'message')) as [Buffer]
  socket.terminate()
  return String(data)
}

export type PeerProcess = AsyncDisposable & { target: SocketTarget; pid: number; tell: (text: string) => void }

/** A program of this folder that tells its port once it listens, in a process of its own. */
export async function startPeer(file: string, environment: Record<string, string>): Promise<PeerProcess> {
  const child = fork(new URL(file, import.meta.url), { env: { ...process.env, ...environment } })
  const [port] = (await once(child, 'message')) as [number]
  return {
    target: { url: `ws://127.0.0.1:${port}/ws`, headers: () => ({}) },
    pid: child.pid!,
    tell: (text) => void child.send(text),
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

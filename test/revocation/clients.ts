import { once } from 'node:events'
import { WebSocket } from 'ws'
import { callerHeader, createSigningKeys, signCaller } from '@gatehouse/auth'
import type { Cluster } from '../../deploy/cluster/cluster.ts'

/** What became of a token: `unavailable` when the process did not answer or could not decide. */
export type TokenOutcome = 'accepted' | 'refused' | 'unavailable'

/** A process that tokens are presented to. */
export type TokenClient = { name: string; present(token: string): Promise<TokenOutcome> }

/** Every gateway over HTTP, every session gateway by its handshake. */
export function tokenClients(cluster: Cluster): TokenClient[] {
  const keys = createSigningKeys('gateway', cluster.environment.INTERNAL_SECRET!)
  const options = { issuer: 'test', audience: 'session-gateway' }
  const rest = cluster.gateways.map((url, index) => ({
    name: `gateway ${index}`,
    present: (token: string) => presentToGateway(url, token),
  }))
  const sockets = cluster.processes
    .filter(({ service }) => service === 'session-gateway')
    .map(({ url, index }) => ({
      name: `session gateway ${index}`,
      present: (token: string) =>
        presentToSessionGateway(
          url,
          token,
          signCaller(keys, { address: '127.0.0.1', account: null }, { ...options, now: Date.now() }),
        ),
    }))
  return [...rest, ...sockets]
}

async function presentToGateway(url: string, token: string): Promise<TokenOutcome> {
  try {
    const response = await fetch(`${url}/api/users/@me`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    })
    await response.arrayBuffer()
    if (response.status === 401) return 'refused'
    return response.status >= 500 ? 'unavailable' : 'accepted'
  } catch {
    return 'unavailable'
  }
}

async function presentToSessionGateway(url: string, token: string, caller: string): Promise<TokenOutcome> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers: { [callerHeader]: caller } })
  socket.on('error', () => undefined)
  const signal = AbortSignal.timeout(10_000)
  try {
    await once(socket, 'open', { signal })
    socket.send(JSON.stringify({ type: 'auth', token }))
    const [message] = (await once(socket, 'message', { signal })) as [Buffer]
    const { type, message: reason } = JSON.parse(message.toString()) as { type: string; message?: string }
    if (type === 'ready') return 'accepted'
    return /revoked|deleted/.test(reason ?? '') ? 'refused' : 'unavailable'
  } catch {
    return 'unavailable'
  } finally {
    socket.terminate()
  }
}

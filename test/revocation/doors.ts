import { once } from 'node:events'
import { WebSocket } from 'ws'
import { callerHeader, createCallerKey, signCaller } from '@gatehouse/auth'
import type { Cluster } from '../../deploy/cluster/cluster.ts'

/** What a door said to a token: let in, turned away, or nothing that counts (it was away, or could not tell). */
export type Verdict = 'accepted' | 'refused' | 'away'

/** A place where a token can be shown. */
export type Door = { name: string; show(token: string): Promise<Verdict> }

/** Every gateway over HTTP, and every session gateway by its handshake. */
export function doorsOf(cluster: Cluster): Door[] {
  const callerKey = createCallerKey(cluster.environment.INTERNAL_SECRET!)
  const rest = cluster.gateways.map((url, index) => ({
    name: `gateway ${index}`,
    show: (token: string) => showToGateway(url, token),
  }))
  const sockets = cluster.processes
    .filter(({ service }) => service === 'session-gateway')
    .map(({ url, index }) => ({
      name: `session gateway ${index}`,
      show: (token: string) =>
        showToSessionGateway(url, token, signCaller(callerKey, { address: '127.0.0.1', account: null }, Date.now())),
    }))
  return [...rest, ...sockets]
}

async function showToGateway(url: string, token: string): Promise<Verdict> {
  try {
    const response = await fetch(`${url}/api/users/@me`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    })
    await response.arrayBuffer()
    if (response.status === 401) return 'refused'
    return response.status >= 500 ? 'away' : 'accepted'
  } catch {
    return 'away'
  }
}

async function showToSessionGateway(url: string, token: string, caller: string): Promise<Verdict> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers: { [callerHeader]: caller } })
  socket.on('error', () => undefined)
  const signal = AbortSignal.timeout(10_000)
  try {
    await once(socket, 'open', { signal })
    socket.send(JSON.stringify({ type: 'auth', token }))
    const [message] = (await once(socket, 'message', { signal })) as [Buffer]
    const { type, message: reason } = JSON.parse(message.toString()) as { type: string; message?: string }
    if (type === 'ready') return 'accepted'
    return /revoked|deleted/.test(reason ?? '') ? 'refused' : 'away'
  } catch {
    return 'away'
  } finally {
    socket.terminate()
  }
}

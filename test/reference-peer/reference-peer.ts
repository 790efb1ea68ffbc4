import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { denyRequest, expireRequests } from './denials.ts'
import { askUnknownEpochs } from './epoch.ts'
import type { Fault } from './faults.ts'
import { createRoutedServer } from './http.ts'
import { deleteRemoteIdentities } from './identities.ts'
import type { DeletionMode } from './identities.ts'
import { runInBackground } from './instance.ts'
import type { ApprovalRequest, Instance, Peer, QueuedEvent, User } from './instance.ts'
import { lookUpByHomeId, lookUpByName } from './lookups.ts'
import { approveRequest, ensurePeering, initiatePeering } from './offers.ts'
import { emptyState, newInstance, usualTimers } from './options.ts'
import type { ReferencePeerOptions } from './options.ts'
import { outboxTick } from './outbox.ts'
import { forgetPeer, putPeer, resetPeer, revokePeer } from './peering.ts'
import type { NewPeer } from './peering.ts'
import { probeAllParked, recheckPeer } from './probes.ts'
import { editProfile, nameInstance, setStatus } from './profiles.ts'
import type { ProfileFields } from './profiles.ts'
import { rotatePeer, rotationTick } from './rotation.ts'
import { routes } from './routes.ts'
import { syncWith } from './sync.ts'
import { addUser } from './users.ts'

export type { Fault } from './faults.ts'
export type { LogEntry, Peer, PeerStatus, User } from './instance.ts'
export type { ReferencePeerOptions } from './options.ts'
export type ReferencePeer = Awaited<ReturnType<typeof startReferencePeer>>

/** A server that speaks like the existing one, written from docs/federation/protocol.md alone, which `wire` means. */
export async function startReferencePeer(options: ReferencePeerOptions = {}) {
  const skew = { ms: 0 }
  const server = createRoutedServer(routes, () => instance)
  const { host, port: preferredPort = 0 } = options.listen ?? {}
  const port = await listen(server, preferredPort, host)
  const instance = newInstance(options, port, skew)
  let timers = startTimers(instance, options)

  const stop = async () => {
    timers.forEach(clearInterval)
    instance.stopping.abort()
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
    await idle(instance)
  }
  /** Peers, requests and outbox stay; nonces and counted requests are forgotten. wire: 1 */
  const restart = async () => {
    await stop()
    instance.nonces.clear()
    instance.countedRequests.clear()
    instance.stopping = new AbortController()
    await listen(server, port, host)
    timers = startTimers(instance, options)
    runInBackground(instance, () => startUp(instance))
  }
  return {
    origin: instance.origin,
    address: `http://127.0.0.1:${port}`,
    stop,
    restart,
    [Symbol.asyncDispose]: stop,
    ...adminActions(instance),
    ...ticks(instance),
    ...userActions(instance),
    ...testControls(instance, skew),
  }
}

async function listen(server: Server, port: number, host = '127.0.0.1'): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function adminActions(instance: Instance) {
  return {
    initiate: (remoteOrigin: string) => initiatePeering(instance, remoteOrigin),
    ensure: (remoteOrigin: string) => ensurePeering(instance, remoteOrigin),
    approve: (requestId: string) => approveRequest(instance, requestId),
    deny: (requestId: string, message?: string) => denyRequest(instance, requestId, message),
    revoke: (origin: string) => revokePeer(instance, origin),
    forget: (origin: string) => forgetPeer(instance, origin),
    reset: (origin: string) => resetPeer(instance, origin),
    recheck: (origin: string) => recheckPeer(instance, origin),
    rotate: (origin: string) => rotatePeer(instance, origin),
  }
}

function ticks(instance: Instance) {
  return {
    /** What happens every second. */
    tick: () => outboxTick(instance),
    rotationTick: () => rotationTick(instance),
    /** Resolves when nothing runs in the background any more. */
    idle: () => idle(instance),
  }
}

function userActions(instance: Instance) {
  return {
    addUser: (user: Partial<User> & { username: string }) => addUser(instance, user),
    setStatus: (user: User, status: string) => setStatus(instance, user, status),
    editProfile: (user: User, fields: ProfileFields) => editProfile(instance, user, fields),
    nameInstance: (user: User, identity: { origin: string; username: string }) =>
      nameInstance(instance, user, identity),
    lookUpByName: (origin: string, username: string) => lookUpByName(instance, requirePeer(instance, origin), username),
    lookUpByHomeId: (origin: string, id: string) => lookUpByHomeId(instance, requirePeer(instance, origin), id),
    deleteIdentities: (user: User, origins: string[], mode: DeletionMode) =>
      deleteRemoteIdentities(instance, user, { origins, mode }),
  }
}

function testControls(instance: Instance, skew: { ms: number }) {
  return {
    /** Open to the test: settings, addresses of remotes, the log of both directions. */
    settings: instance.settings,
    resolve: instance.addresses,
    log: instance.log,
    instanceId: () => instance.instanceId,
    peers: (): Peer[] => structuredClone([...instance.peers.values()]),
    peer: (origin: string): Peer | undefined => structuredClone(instance.peers.get(origin)),
    requests: (): ApprovalRequest[] => structuredClone([...instance.requests.values()]),
    outbox: (): QueuedEvent[] => structuredClone(instance.outbox),
    users: (): User[] => structuredClone([...instance.users.values()]),
    addPeer: (origin: string, peer: NewPeer) => void putPeer(instance, origin, peer),
    addFault: (fault: Fault) => void instance.faults.push(fault),
    skewClock: (ms: number) => void (skew.ms = ms),
    /** The database is lost: everything is gone and the instanceId is another one. wire: 2.6 */
    loseData: () => void Object.assign(instance, emptyState(), { instanceId: randomUUID() }),
  }
}

function requirePeer(instance: Instance, origin: string): Peer {
  const peer = instance.peers.get(origin)
  if (!peer) throw new Error(`No peer ${origin}`)
  return peer
}

async function idle(instance: Instance): Promise<void> {
  while (instance.background.size > 0) await Promise.all(instance.background)
}

function startTimers(instance: Instance, { timers = {} }: ReferencePeerOptions): NodeJS.Timeout[] {
  if (timers === 'manual') return []
  const { outboxMs, quarterHourMs, hourMs } = { ...usualTimers, ...timers }
  return [
    setInterval(() => runInBackground(instance, () => outboxTick(instance)), outboxMs),
    setInterval(() => runInBackground(instance, () => quarterHourTick(instance)), quarterHourMs),
    setInterval(() => runInBackground(instance, () => expireRequests(instance)), hourMs),
  ]
}

/** wire: 2.2 (epoch), 2.6 (parked peers), 2.8 (rotation) */
async function quarterHourTick(instance: Instance): Promise<void> {
  await rotationTick(instance)
  await askUnknownEpochs(instance)
  await probeAllParked(instance)
}

/** wire: 2.2 (epoch), 2.6 (parked peers), 2.7 (syncs) */
async function startUp(instance: Instance): Promise<void> {
  await askUnknownEpochs(instance)
  await probeAllParked(instance)
  const active = [...instance.peers.values()].filter((peer) => peer.status === 'active')
  await Promise.all(active.map((peer) => syncWith(instance, peer)))
}

import { setTimeout as pause } from 'node:timers/promises'
import { eventually, freePort } from '@gatehouse/test-kit'
import { startReferencePeer, type ReferencePeer } from '../reference-peer/reference-peer.ts'
import type { History } from './history.ts'
import type { InstanceClient } from './instance-client.ts'
import type { TestUser } from './users.ts'

type Scene = { instance: InstanceClient; history: History; admin: TestUser; peer: ReferencePeer; stop: AbortSignal }

const ownHost = 'home.test'
const peerHost = 'peer.test'
const betweenEditsMs = 1_500
const editsOfRound = 4
/** A deletion that met a fault is tried again after one, two and four minutes. Contract: 7, Deletion orders. */
const arrivalLimitMs = 600_000
const peeringLimitMs = 60_000

/** Another instance, and what the one under test needs to reach it. */
export async function startPeer(): Promise<{ peer: ReferencePeer; environment: Record<string, string> }> {
  const port = await freePort()
  const publicOrigin = `http://${peerHost}:${port}`
  const settings = { autoAcceptPeering: true, limits: false }
  const peer = await startReferencePeer({ publicOrigin, listen: { port }, instanceName: 'Peer', settings })
  const environment = {
    PUBLIC_ORIGIN: `https://${ownHost}`,
    DOMAIN: ownHost,
    FEDERATION_ALLOW_PRIVATE: 'loopback',
    FEDERATION_RESOLVE: `${peerHost}=127.0.0.1`,
  }
  return { peer, environment }
}

/** Before the first fault. */
export async function befriendPeer({ instance, admin, peer }: Omit<Scene, 'history' | 'stop'>): Promise<void> {
  peer.resolve.set(`https://${ownHost}`, instance.gateways[0]!)
  const body = { remoteOrigin: peer.origin }
  const initiated = await instance.call('POST', '/api/federation/peer/initiate', { token: admin.token, body })
  if (initiated === null || initiated.status >= 400)
    throw new Error(`the peering was answered with ${initiated?.status ?? 'nothing'}`)
  await eventually(
    'the instances are peers',
    async () => {
      const answer = await instance.call('GET', '/api/federation/peers', { token: admin.token })
      const [peerRow] = (answer?.body.peers ?? []) as { status: string }[]
      return peerRow?.status === 'active' && peer.peer(`https://${ownHost}`)?.status === 'active'
    },
    peeringLimitMs,
  )
}

/**
 * Has an account at the peer, edits the profile, and has that account deleted, over and over again: each acknowledged change and
 * each deletion arrives. Contract: 7, Profiles and Deletion orders.
 */
export async function travel(scene: Scene, person: TestUser): Promise<void> {
  for (let round = 1; !scene.stop.aborted; round += 1) await travelOnce(scene, person, round)
}

async function travelOnce(scene: Scene, person: TestUser, round: number): Promise<void> {
  const { instance, history, peer, stop } = scene
  const username = `${person.username}@${ownHost}`
  const account = peer.addUser({ username, homeInstance: ownHost, homeUserId: person.id })
  const find = () => peer.users().find(({ id }) => id === account.id)!
  const edit = (body: object) =>
    untilAnswered(() => instance.call('PATCH', '/api/users/@me', { token: person.token, body }))
  await edit({ replicatedInstances: [{ origin: peer.origin, username }] })
  let displayName = ''
  for (let n = 1; n <= editsOfRound && !stop.aborted; n += 1) {
    await pause(betweenEditsMs)
    displayName = `${person.username} ${round}.${n}`
    await edit({ displayName })
  }
  const arrived = async (what: string, check: () => boolean | Promise<boolean>) =>
    await eventually(what, check, arrivalLimitMs).then(
      () => history.count(`at the peer: ${what}`),
      () => history.violation(`not at the peer within ${arrivalLimitMs} ms: ${what} of ${person.username}`),
    )
  if (displayName !== '') await arrived('profiles', () => find().displayName === displayName)
  const body = { origins: [peer.origin], mode: 'soft', durable: true }
  const path = '/api/users/@me/federation-identity/delete'
  await untilAnswered(
    () => instance.call('POST', path, { token: person.token, body }),
    (results) => {
      const result = (results as { [origin: string]: { success: boolean; order?: string } })[peer.origin]
      return result?.success === true || result?.order === 'waiting'
    },
  )
  const isGone = () => peer.users().every(({ homeUserId, deleted }) => homeUserId !== person.id || deleted)
  await arrived('deletions', async () => isGone() && !(await isOrderWaiting(scene, person)))
}

/** An order that waits would delete the account of the next round. */
async function isOrderWaiting({ instance, admin }: Scene, person: TestUser): Promise<boolean> {
  const answer = await instance.call('GET', `/api/admin/users/${person.id}`, { token: admin.token })
  if (answer?.status !== 200) return true
  return (answer.body.orders as { state: string }[]).some(({ state }) => state === 'waiting')
}

/** The change may be repeated: it says what is to be, not what is added. */
async function untilAnswered(call: () => ReturnType<InstanceClient['call']>, isDone?: (results: unknown) => boolean) {
  for (;;) {
    const answer = await call()
    if (answer?.status === 200 && (!isDone || isDone(answer.body.results))) return
    await pause(250)
  }
}

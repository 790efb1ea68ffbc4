import { normalizeOrigin, type PeerReply } from '@gatehouse/contracts'
import { CommandFailure } from '../failure.ts'
import { formatTime, table, type DefineGroup, type Invocation, type Result } from '../invocation.ts'

type Request = { id: string; origin: string; direction: string; instanceName: string | null; requestedAt: number }

/** `peers …`. Contract: 7, states of a peer. */
export function definePeerCommands(group: DefineGroup): void {
  const define = group('peers', 'Manage peers (identified by address or ID)')
  define('list', 'List peers and pending requests', listPeers)
  define(
    'initiate <origin>',
    'Send a peering request to another instance',
    async ({ call }, _options, remoteOrigin) => {
      const { peer } = await call({ endpoint: 'initiatePeer', body: { remoteOrigin } })
      const { origin, status } = peer as PeerReply
      return { json: peer, text: `${origin} is ${status}` }
    },
  )
  define('approve <request>', 'Approve a pending request', async (invocation, _options, name) => {
    const request = await findRequest(invocation, name)
    await invocation.call({ endpoint: 'approveRequest', params: { id: request.id } })
    return { json: request, text: `Approved the request from ${request.origin}` }
  })
  define('deny <request>', 'Deny a pending request permanently', async (invocation, _options, name) => {
    const request = await findRequest(invocation, name)
    await invocation.confirm(`This denies the request from ${request.origin} and notifies that instance.`)
    await invocation.call({ endpoint: 'denyRequest', params: { id: request.id } })
    return { json: request, text: `Denied the request from ${request.origin}` }
  })
  define('revoke <peer>', 'End peering with an instance', async (invocation, _options, name) => {
    const { id, origin } = await findPeer(invocation, name)
    await invocation.confirm(`The peering with ${origin} ends, and its secret is destroyed.`)
    await invocation.call({ endpoint: 'revokePeer', params: { id } })
    return { json: { id, origin }, text: `Ended peering with ${origin}` }
  })
  define('rotate <peer>', 'Rotate the shared secret now', async (invocation, _options, name) => {
    const { id, origin } = await findPeer(invocation, name)
    const { peer } = await invocation.call({ endpoint: 'rotatePeer', params: { id } })
    return { json: peer, text: `Rotated the secret for ${origin}` }
  })
}

async function listPeers(invocation: Invocation): Promise<Result> {
  const [peers, requests] = [await allPeers(invocation), await allRequests(invocation)]
  const rows = peers.map(({ id, origin, status, reason, instanceName, rotatedAt }) => {
    return [id, origin, status, reason, instanceName, formatTime(rotatedAt)]
  })
  const waiting = requests.map(({ id, origin, direction, instanceName, requestedAt }) => {
    return [id, origin, direction, instanceName, formatTime(requestedAt)]
  })
  const peerTable = table(['id', 'origin', 'status', 'reason', 'name', 'secret since (UTC)'], rows)
  const requestTable = table(['id', 'origin', 'direction', 'name', 'since (UTC)'], waiting)
  const text = waiting.length > 0 ? `${peerTable}\n\nwaiting for a decision\n${requestTable}` : peerTable
  return { json: { peers, requests }, text }
}

const allPeers = async ({ call }: Invocation) => (await call({ endpoint: 'listPeers' }))['peers'] as PeerReply[]
const allRequests = async ({ call }: Invocation) =>
  (await call({ endpoint: 'listApprovalRequests' }))['requests'] as Request[]

const findPeer = async (invocation: Invocation, name: string) => pick(await allPeers(invocation), name, 'peer')
const findRequest = async (invocation: Invocation, name: string) =>
  pick(await allRequests(invocation), name, 'waiting request')

function pick<T extends { id: string; origin: string }>(rows: readonly T[], name: string, what: string): T {
  const origin = normalizeOrigin(name) ?? name
  const [only, ...others] = rows.filter((row) => row.id === name || row.origin === origin)
  if (!only) throw new CommandFailure('unknown', `No ${what} ${name}`)
  if (others.length > 0) throw new CommandFailure('refused', `${name} has more than one ${what}: name it by its id`)
  return only
}

import { randomBytes } from 'node:crypto'
import { startReferencePeer, type ReferencePeer } from '../reference-peer/reference-peer.ts'
import { accountChecks, removeMade } from './account-checks.ts'
import { adminChecks, forgetPeering, peersOf } from './admin-checks.ts'
import { ask, askSigned, holds, NotApplicable, NotAsOnThePage, same, waitFor, type Side } from './side.ts'
import { signedChecks, unsignedChecks } from './stranger-checks.ts'

/** `rows`: of the pages, by how they begin (page-rows.ts). Gives what was seen. */
export type Check = {
  name: string
  rows: string[]
  /** Left out: both. */
  generation?: 2
  run(side: Side): Promise<string>
}

export type Result = {
  name: string
  rows: string[]
  outcome: 'passed' | 'failed' | 'not applicable'
  observation: string
}

export type Options = {
  origin: string
  generation: 1 | 2
  adminToken?: string | undefined
  user?: { username: string; password: string } | undefined
  /** Where the reference peer listens, and the origin by which the target reaches it. */
  peer?: { origin?: string; host?: string; port?: number }
}

export const offer: Check = {
  name: 'an offer of the reference peer',
  rows: ['2.2 none', '2.2 200', '2.2 202', '6.1 202 with approvalToken, and accept with it'],
  run: async (side) => {
    const { peer, origin } = side
    const offered = await peer.initiate(origin)
    const sent = peer.log.findLast(({ direction, path }) => direction === 'sent' && path.endsWith('/peer/accept'))
    const said = JSON.parse(sent?.answer || '{}') as Record<string, unknown>
    if (sent?.status === 409)
      throw new NotAsOnThePage('409: the target knows this origin from before; give another one')
    holds(`the offer is 200 or 202, not ${sent?.status}: ${sent?.answer}`, [200, 202].includes(Number(sent?.status)))
    if (sent?.status === 202)
      holds('202 has queued and a token', said.queued === true && typeof said.approvalToken === 'string')
    else holds('200 has accepted and instanceId', said.accepted === true && typeof said.instanceId === 'string')
    const isActive = () => peer.peer(origin)?.status === 'active' || undefined
    if (!(await waitFor(isActive, side.adminToken ? 3_000 : 20_000))) await approve(side)
    if (!(await waitFor(isActive)))
      throw new NotApplicable(`${sent?.status}; an admin of the target must approve: --admin`)
    const answer = await waitFor(async () => {
      const { status } = await askSigned(side, 'POST /api/federation/sync', { sinceTimestamp: Date.now(), limit: 1 })
      return status === 200 || undefined
    })
    holds('requests with the secret are answered', answer === true)
    return `${offered.status === 202 || sent?.status === 202 ? '202, then 200 of ours' : '200'}; active on both sides`
  },
}

async function approve(side: Side): Promise<void> {
  if (!side.adminToken) return
  const { body } = await ask(side, 'GET /api/federation/approval-requests', { token: side.adminToken })
  const requests = (body.requests ?? []) as { id: string; origin?: string; sourceOrigin?: string }[]
  const ours = requests.find((request) => (request.origin ?? request.sourceOrigin) === side.peer.origin)
  if (!ours) return
  await ask(side, `POST /api/federation/approval-requests/${ours.id}/approve`, { token: side.adminToken })
}

/** The reference peer on one side, the instance at `origin` on the other. Removes what it has made. */
export async function checkConformance({ origin, generation, ...options }: Options): Promise<Result[]> {
  const { origin: publicOrigin, ...listen } = options.peer ?? {}
  await using peer: ReferencePeer = await startReferencePeer({
    generation,
    timers: 'manual',
    settings: { limits: false },
    instanceName: 'Conformance',
    listen,
    ...(publicOrigin && { publicOrigin }),
  })
  const side: Side = {
    origin,
    generation,
    peer,
    adminToken: options.adminToken,
    account: await logIn(origin, options.user),
  }
  if (await isKnown(side)) throw new Error(`${peer.origin} is a peer of the target already: give another --peer-origin`)
  const results: Result[] = []
  const runAll = async (checks: readonly Check[], unless?: string) => {
    for (const check of checks) results.push(await runCheck(side, check, unless))
    return results.at(-1)?.outcome === 'passed'
  }
  try {
    await runAll(unsignedChecks)
    const isPeer = await runAll([offer])
    const noPeering = isPeer ? undefined : 'no peering'
    await runAll(signedChecks, noPeering)
    await runAll(accountChecks, noPeering)
    await runAll(adminChecks, side.adminToken ? noPeering : 'needs --admin')
  } finally {
    await removeMade(side)
    if (side.adminToken) await forgetPeering(side)
  }
  return results
}

/** Offers of another instance would park a peer that is at this origin. A revoked one reads like none, but in the list. */
async function isKnown(side: Side): Promise<boolean> {
  const secret = randomBytes(32).toString('hex')
  const { status } = await askSigned(side, 'POST /api/federation/epoch', {}, { secret })
  if (status === 401) return true
  return side.adminToken !== undefined && (await peersOf(side)).some(({ origin }) => origin === side.peer.origin)
}

async function runCheck(side: Side, { name, rows, generation, run }: Check, unless?: string): Promise<Result> {
  const end = (outcome: Result['outcome'], observation: string): Result => ({ name, rows, outcome, observation })
  if (generation && generation !== side.generation) return end('not applicable', `generation ${generation} only`)
  if (unless !== undefined) return end('not applicable', unless)
  try {
    return end('passed', await run(side))
  } catch (error) {
    if (error instanceof NotApplicable) return end('not applicable', error.message)
    return end('failed', (error as Error).message)
  }
}

async function logIn(origin: string, user: Options['user']): Promise<Side['account']> {
  if (!user) return undefined
  const answer = await ask({ origin }, 'POST /api/auth/login', { body: user })
  same(`login of ${user.username}`, answer.status, 200)
  const { id } = answer.body.user as { id: string }
  return { ...user, id, token: String(answer.body.token) }
}

import { randomBytes } from 'node:crypto'
import { call, isSignedAnswer } from './calls.ts'
import { requireSigned } from './checks.ts'
import { field, nullableTextField, textField } from './fields.ts'
import type { Instance, Peer, User } from './instance.ts'
import { lookUpByHomeId } from './lookups.ts'
import { hostOf, isSameHost } from './origins.ts'
import { outcome } from './peering.ts'
import type { Outcome } from './peering.ts'
import { refused, signedReply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'
import { baseName, isStub, liveUsers, nativeUsers, tombstone } from './users.ts'

const proofLifeMs = 60_000

/** Step 1, at the new home: a token with nothing inside, kept with the user and the target host. wire: 4, attach */
export function issueAttachProof(instance: Instance, user: User, targetDomain: string): Outcome {
  const targetHost = targetDomain.trim().toLowerCase()
  if (!/^[a-z0-9.-]{1,253}$/.test(targetHost)) return outcome(400, { error: 'targetDomain is refused' })
  if (user.deleted || user.homeInstance !== null) return outcome(403, { error: 'Only native users can attach' })
  const token = randomBytes(32).toString('hex')
  instance.attachProofs.set(token, { userId: user.id, targetHost, expiresAt: instance.now() + proofLifeMs })
  return outcome(200, { token })
}

/** Step 3, at the new home. Single use; every reason against it is the same answer. wire: 4, attach */
export function answerVerifyAttachProof(instance: Instance, request: ReceivedRequest): Reply {
  const peer = requireSigned(instance, request, { limit: 'lookups' })
  const token = textField(request.body, 'token')
  if (token === null) throw refused(400, 'token is required')
  const proof = instance.attachProofs.get(token)
  const user = nativeUsers(instance).find((native) => native.id === proof?.userId)
  const isValid = proof && user && proof.expiresAt >= instance.now() && proof.targetHost === hostOf(peer.origin)
  if (!isValid) return signedReply(instance, peer.secret, { valid: false })
  instance.attachProofs.delete(token)
  return signedReply(instance, peer.secret, { valid: true, homeUserId: user.id, username: user.username })
}

/** Steps 2 to 4, where the detached account is. wire: 4, attach */
export async function reattach(instance: Instance, userId: string, token: unknown): Promise<Outcome> {
  if (typeof token !== 'string' || !/^[0-9a-f]{64}$/.test(token)) return outcome(400, { error: 'token is refused' })
  const user = instance.users.get(userId)
  if (!user || user.deleted) return outcome(404, { error: 'No such user' })
  if (!user.detached || user.homeInstance === null) return outcome(403, { error: 'The account is not detached' })
  const host = hostOf(user.homeInstance)
  const home = [...instance.peers.values()].find(({ origin }) => hostOf(origin) === host)
  if (host === null || home?.status !== 'active') return outcome(409, { error: 'The home is no active peer' })
  const identity = await askAttachProof(instance, home, token)
  if (!identity) return outcome(401, { error: 'Not proven' })
  return await rebind(instance, user, { home, host, ...identity })
}

type Identity = { homeUserId: string; username: string }

async function askAttachProof(instance: Instance, home: Peer, token: string): Promise<Identity | null> {
  const request = { origin: home.origin, method: 'POST', path: '/api/federation/verify-attach-proof' } as const
  const timeoutMs = instance.timeoutsMs.message
  const answer = await call(instance, { ...request, body: { token }, secret: home.secret, timeoutMs })
  const [homeUserId, username] = [textField(answer.body, 'homeUserId'), textField(answer.body, 'username')]
  const isValid = isSignedAnswer(instance, answer, home.secret) && field(answer.body, 'valid') === true
  return isValid && homeUserId !== null && username !== null ? { homeUserId, username } : null
}

type Binding = Identity & { home: Peer; host: string }

/** A stub of the new identity is merged into the account; another real account of it is in the way. wire: 4, attach */
async function rebind(instance: Instance, user: User, { home, host, homeUserId, username }: Binding): Promise<Outcome> {
  const isOther = (live: User) => live !== user && live.homeUserId === homeUserId && live.homeInstance !== null
  const holder = liveUsers(instance).find((live) => isOther(live) && isSameHost(live.homeInstance ?? '', host))
  if (holder && !isStub(holder)) return outcome(409, { error: 'Another account holds this identity' })
  if (holder) {
    tombstone(holder)
    instance.users.delete(holder.id)
  }
  Object.assign(user, { homeUserId, homeInstance: host, detached: false })
  if (baseName(user.username) !== username) user.username = `${username}@${host}`.toLowerCase()
  const found = await lookUpByHomeId(instance, home, homeUserId)
  if (typeof found !== 'string') user.displayName = nullableTextField(found.profile, 'displayName') ?? found.username
  return outcome(200, { success: true, user: structuredClone(user) })
}

import { describeUserAgent, registrationChanged } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { LinkedIdentity, Registration, type Actor } from '@gatehouse/domain'
import { enqueue } from '@gatehouse/outbox'
import { randomToken, refuse } from '@gatehouse/runtime'
import { clientNetwork } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { hashSecret } from '../../hashing/hash-secret.ts'
import { policy } from '../../policy.ts'
import type { PlainSettings } from '../../queries/load-settings.ts'
import { refuseTakenName, type NewAccount } from '../accounts/insert-account.ts'
import type { NamedIdentity } from '../accounts/insert-identity.ts'
import type { Sender } from '../accounts/sign-ins.ts'
import { claimIdentity, claimName, refuseBlocked, removeEnded } from '../accounts/waiting.ts'

/** What the person gets in place of a token. */
export type HeldRegistration = { pending: true; username: string; receipt: string }

type Request = Sender & { reason: string | null }

/** Throws registration_blocked, reason_required. Contract: 3, Approval. */
export async function checkRequest(
  deps: OperationContext,
  { settings, address, reason }: { settings: PlainSettings; address: string; reason: string | null },
): Promise<void> {
  await refuseBlocked(deps, deps.orm.em.fork(), clientNetwork(address))
  if (settings.askReason && reason === null) throw refuse.reason_required()
}

type Hold = { account: NewAccount; request: Request; identity: NamedIdentity | undefined }

/** Keeps a registration until an admin decides. Throws username_taken, registration_pending, identity_held. Contract: 3, Approval. */
export async function holdRegistration(
  deps: OperationContext,
  em: EntityManager,
  { account, request, identity }: Hold,
): Promise<HeldRegistration> {
  const { username, passwordHash, hasPassword, displayName, avatarColor, requestId } = account
  await claimName(deps, em, username)
  await refuseTakenName(em, username)
  if (identity) await claimUnlinked(deps, em, identity)
  const now = await deps.databaseTime(em)
  await removeEnded(em, { username, now, ...identity })
  const receipt = randomToken(deps.random, policy.registrationReceiptBytes)
  const id = await nextId(em)
  const { name: identityName = null, ...linkFields } = identity ?? {}
  await em.insert(Registration, {
    id,
    receiptHash: hashSecret(receipt),
    createdAt: new Date(now),
    username,
    displayName,
    avatarColor,
    passwordHash: hasPassword ? passwordHash : null,
    reason: request.reason,
    ...linkFields,
    identityName,
    network: clientNetwork(request.address),
    client: describeUserAgent(request.client.userAgent),
  })
  await announce(deps, em, { registrationId: id, at: now, actor: null, change: 'requested', requestId })
  return { pending: true, username, receipt }
}

async function claimUnlinked(deps: OperationContext, em: EntityManager, { issuer, subject }: NamedIdentity) {
  await claimIdentity(deps, em, { issuer, subject })
  if ((await em.count(LinkedIdentity, { issuer, subject })) > 0) throw refuse.identity_held()
}

type Change = {
  registrationId: string
  at: number
  actor: Actor | null
  change: 'requested' | 'approved' | 'denied' | 'restored'
  requestId: string | undefined
}

/** For watching admins. */
export async function announce({ random }: OperationContext, em: EntityManager, { requestId, ...change }: Change) {
  await enqueue(em, registrationChanged, change, { id: random.uuid(), requestId })
}

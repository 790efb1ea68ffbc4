import { limits, passkeyAdded, passkeyRemoved, type addPasskeyBody, type creationOptions } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { Passkey, type User } from '@gatehouse/domain'
import { enqueue } from '@gatehouse/outbox'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { enqueueNotice } from '../../mail/outbox.ts'
import { policy } from '../../policy.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { requireWayIn } from '../accounts/ways-in.ts'
import { changeSelf, refuseViolation, type OwnAct } from '../change-account.ts'
import { changeConfirmed, type Confirmed } from '../credentials/verify-password.ts'
import {
  algorithms,
  consumeChallenge,
  handleOf,
  issueChallenge,
  ofAddition,
  verifyRegistration,
} from './verify-response.ts'

type OwnDeps = OperationContext & Pick<Deps, 'hasher' | 'config' | 'encryptionKey'>

/** Oldest first. Contract: 3, Passkeys. */
export async function listPasskeys({ orm }: Pick<OperationContext, 'orm'>, userId: string) {
  const passkeys = await orm.em.fork().find(Passkey, { userId }, { orderBy: { id: 'asc' } })
  return { passkeys: passkeys.map(describePasskey) }
}

/** What a browser needs to make a passkey, for `addPasskey` within five minutes. Contract: 3, Passkeys. */
export async function beginPasskey(deps: OwnDeps, confirmation: Confirmed): Promise<z.infer<typeof creationOptions>> {
  return await changeConfirmed(deps, { ...confirmation, judge: requireLocal }, async (user, em) => {
    const { id, username, displayName } = user
    const passkeys = await em.find(Passkey, { userId: id })
    if (passkeys.length >= limits.passkeysMax) throw refuse.too_many_passkeys()
    const { domain } = deps.config.publicAddress
    return {
      rp: { id: domain, name: domain },
      user: { id: handleOf(id), name: username, displayName: displayName ?? username },
      challenge: await issueChallenge(deps, em, ofAddition(user)),
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      timeout: policy.passkeyChallengeMs,
      excludeCredentials: passkeys.map(({ credentialId }) => ({ type: 'public-key', id: credentialId })),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
    }
  })
}

/** The challenge, made for this account, stands for the password. Contract: 3, Passkeys. */
export async function addPasskey(deps: OwnDeps, input: z.infer<typeof addPasskeyBody> & OwnAct) {
  const { caller, name, response, requestId } = input
  requireLocal(await loadCaller(deps, caller))
  const { challenge, ...credential } = await verifyRegistration(deps, response)
  const adding = changeSelf(deps, caller, async (user, em) => {
    requireLocal(user)
    await consumeChallenge(deps, em, { challenge, purpose: ofAddition(user) })
    if ((await em.count(Passkey, { userId: user.id })) >= limits.passkeysMax) throw refuse.too_many_passkeys()
    const createdAt = new Date(await deps.databaseTime(em))
    const passkey = em.create(Passkey, { ...credential, id: await nextId(em), userId: user.id, name, createdAt })
    await em.persist(passkey).flush()
    await announce(em, deps, passkeyAdded, { user, passkey, requestId })
    return describePasskey(passkey)
  })
  const added = await refuseViolation(adding, 'passkeys_credential_id_unique', refuse.passkey_known)
  deps.afterCommit.publishEvents()
  return added
}

/** Needs the own password: a stolen token must not take it away. Contract: 3, Passkeys. */
export async function removePasskey(deps: OwnDeps, { id, ...confirmation }: Confirmed & { id: string }): Promise<void> {
  await changeConfirmed(deps, confirmation, async (user, em) => {
    const passkey = await em.findOne(Passkey, { id, userId: user.id })
    if (!passkey) throw refuse.passkey_unknown()
    await announce(em, deps, passkeyRemoved, { user, passkey, requestId: confirmation.requestId })
    await em.remove(passkey).flush()
    await requireWayIn(deps, em, user)
  })
  deps.afterCommit.publishEvents()
}

async function announce(
  em: EntityManager,
  { random, databaseTime }: OperationContext,
  event: typeof passkeyAdded | typeof passkeyRemoved,
  { user, passkey: { id, userId, name }, requestId }: { user: User; passkey: Passkey; requestId: string | undefined },
): Promise<void> {
  const at = await databaseTime(em)
  const kind = event === passkeyAdded ? 'passkey_added' : 'passkey_removed'
  await enqueueNotice(em, { user, kind, at })
  await enqueue(em, event, { userId, at, passkeyId: id, name }, { id: random.uuid(), requestId })
}

function requireLocal(user: User): void {
  if (!user.isLocal()) throw refuse.passkeys_local_only()
}

function describePasskey({ id, name, createdAt, lastUsedAt }: Passkey) {
  return { id, name, createdAt: createdAt.getTime(), lastUsedAt: lastUsedAt?.getTime() ?? null }
}

import { baseUsername, isLocalUsername, limits, normalizeUsername, profileFields } from '@gatehouse/contracts'
import type { resolveStubBody } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { User, stubPasswordHash } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { findIdentity } from '../../queries/load-user.ts'
import { shortened } from './apply-remote-profiles.ts'

type RemoteIdentity = z.infer<typeof resolveStubBody>

/** The registration gates do not apply. Throws not_found, home_instance_invalid. Spec: Registration 8; Contract: 7, stubs. */
export async function resolveReplicatedUser({ orm, clock, random }: OperationContext, identity: RemoteIdentity) {
  const host = identity.homeInstance.toLowerCase()
  const base = stubBaseName(identity)
  for (let attempt = 0; attempt < policy.stubNameAttempts; attempt += 1) {
    const em = orm.em.fork()
    const existing = await findIdentity(em, identity)
    if (existing?.isDeleted) throw refuse.not_found()
    if (existing) return { id: existing.id, created: false }
    const username = stubUsername(base, { host, attempt, hex: random.bytes(4).toString('hex') })
    if (!username) throw refuse.home_instance_invalid()
    const stub = { ...identity, homeInstance: host, username, createdAt: new Date(clock.now()) }
    const id = await insertStub(em, stub)
    if (id) return { id, created: true }
  }
  throw refuse.username_taken()
}

type NewStub = RemoteIdentity & { username: string; createdAt: Date }

/** Undefined when the name or the identity has been taken meanwhile. */
async function insertStub(em: EntityManager, stub: NewStub): Promise<string | undefined> {
  const { username, homeInstance, homeUserId, createdAt } = stub
  const id = await nextId(em)
  const displayName = shortened(stub.displayName, profileFields.displayName)
  const row = { id, username, passwordHash: stubPasswordHash, displayName, homeInstance, homeUserId, createdAt }
  const insertion = em.createQueryBuilder(User).insert(row).onConflict().ignore()
  const { affectedRows } = await insertion.execute<{ affectedRows: number }>('run')
  return affectedRows === 1 ? id : undefined
}

/** Made from the id where the name does not fit our form. Contract: 7, stubs. */
export function stubBaseName({ username, homeUserId }: RemoteIdentity): string {
  const base = localForm(baseUsername(normalizeUsername(username ?? '')))
  return isLocalUsername(base) ? base : localForm(`user_${homeUserId.toLowerCase()}`)
}

const numbered = 10

/** Attempts 1 to 10 end in `~1` to `~10`, later ones in `~<hex>`. Null when no name fits beside this host. */
export function stubUsername(base: string, { host, attempt, hex }: { host: string; attempt: number; hex: string }) {
  const suffix = attempt === 0 ? '' : `~${attempt > numbered ? hex : attempt}`
  const room = Math.min(limits.localUsernameMax, limits.federatedUsernameMax - host.length - 1) - suffix.length
  if (room < limits.localUsernameMin) return null
  return `${base.slice(0, room)}${suffix}@${host}`
}

const localForm = (text: string): string => text.replace(/[^a-z0-9_]/g, '_').slice(0, limits.localUsernameMax)

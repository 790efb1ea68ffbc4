import { countCodePoints, limits, type resolveStubBody } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { nextId, stubPasswordHash, type User } from '@gatehouse/domain'
import { commonErrors } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { policy } from '../policy.ts'
import { findIdentity } from '../queries/find-identity.ts'
import { stubBaseName, stubUsername } from './stub-names.ts'

type Input = z.infer<typeof resolveStubBody>
type Resolved = { id: string; created: boolean }

/**
 * The live user of a remote identity, or a new stub; any number of calls at once make one. A deleted identity is not made
 * again. Neither registration gate counts. Throws not_found, invalid_input. Spec: Registration 8; Contract: 7, stubs.
 */
export async function resolveReplicatedUser(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  input: Input,
): Promise<Resolved> {
  const host = input.homeInstance.toLowerCase()
  const base = stubBaseName(input)
  for (let attempt = 0; attempt < policy.stubNameAttempts; attempt += 1) {
    const em = orm.em.fork()
    const known = await findLive(em, input)
    if (known) return { id: known.id, created: false }
    const username = stubUsername(base, { host, attempt })
    if (!username) throw commonErrors.invalid_input({ message: 'homeInstance is too long for a username' })
    const id = await insertStub(em, { ...input, homeInstance: host, username, createdAt: new Date(clock.now()) })
    if (id) return { id, created: true }
  }
  throw refuse.username_taken()
}

async function findLive(em: EntityManager, identity: Input): Promise<User | null> {
  const user = await findIdentity(em, identity)
  if (user?.isDeleted) throw commonErrors.not_found()
  return user
}

/** Undefined when the name or the identity has been taken meanwhile: the constraints decide between racers. */
async function insertStub(em: EntityManager, stub: Input & { username: string; createdAt: Date }) {
  const id = await nextId(em)
  const inserted = await changeRows(
    em,
    `insert into users (id, username, password_hash, display_name, home_instance, home_user_id, created_at)
     values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
    [
      id,
      stub.username,
      stubPasswordHash,
      shownName(stub.displayName),
      stub.homeInstance,
      stub.homeUserId,
      stub.createdAt,
    ],
  )
  return inserted === 1 ? id : undefined
}

/** Names come from another instance's rules: an overlong one is cut. */
function shownName(displayName: string | null | undefined): string | null {
  const trimmed = displayName?.trim() ?? ''
  if (trimmed === '') return null
  return countCodePoints(trimmed) <= limits.displayNameMax
    ? trimmed
    : [...trimmed].slice(0, limits.displayNameMax).join('').trim()
}

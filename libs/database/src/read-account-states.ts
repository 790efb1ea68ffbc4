import type { AccountState } from '@gatehouse/contracts'
import { User, accountStateOf, accountStateProperties } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { prepareRead } from './prepared-reads.ts'
import { bigintArray } from './rows.ts'

const readStates = prepareRead({
  name: 'account_states',
  entity: User,
  properties: accountStateProperties,
  where: 'users.id = any($1::bigint[])',
})

/** Unknown ids are missing. Design: invariant 1. */
export async function readAccountStates(em: EntityManager, userIds: readonly string[]): Promise<AccountState[]> {
  const rows = await readStates(em, [bigintArray(userIds)])
  return rows.map(accountStateOf)
}

import type { AccountState } from '@gatehouse/contracts'
import { User, accountStateOf, accountStateProperties } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { bigintArray, columnsOf, selectRows } from './rows.ts'

/** What decides over the tokens of accounts, from the database; unknown ids are missing. Design: invariant 1. */
export async function readAccountStates(em: EntityManager, userIds: readonly string[]): Promise<AccountState[]> {
  const columns = columnsOf(em, User, accountStateProperties)
  const sql = `select ${columns.sql} from users where users.id = any(?::bigint[])`
  const rows = await selectRows<object>(em, sql, [bigintArray(userIds)])
  return rows.map((row) => accountStateOf(columns.read(row)))
}

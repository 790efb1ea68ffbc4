import { normalizeUsername } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '@gatehouse/runtime'

const greatestId = 2n ** 63n - 1n

/** `id:` or `name:` in front decides: a name may be the digits of another id. Throws user_unknown, user_ambiguous. */
export async function findUser(em: EntityManager, reference: string): Promise<User> {
  const [, kind, text = ''] = /^(?:(id|name):)?(.*)$/s.exec(reference) ?? []
  const byId = kind !== 'name' && isId(text) ? await em.findOne(User, { id: text }) : null
  const byName = kind !== 'id' ? await em.findOne(User, { username: normalizeUsername(text) }) : null
  if (byId && byName && byId.id !== byName.id) throw refuse.user_ambiguous()
  const user = byId ?? byName
  if (!user) throw refuse.user_unknown()
  return user
}

const isId = (text: string): boolean => /^[1-9][0-9]{0,18}$/.test(text) && BigInt(text) <= greatestId

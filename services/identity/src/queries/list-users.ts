import type { listUsersQuery } from '@gatehouse/contracts'
import { selectRows } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import type { EntityManager, FilterQuery, QueryOrderMap } from '@mikro-orm/postgresql'
import type { z } from 'zod'

type UsersQuery = z.infer<typeof listUsersQuery>

/** A page of the accounts and how many there are in all. Contract: 5. */
export async function listUsers(em: EntityManager, query: UsersQuery): Promise<{ users: User[]; total: number }> {
  const { page, pageSize } = query
  const [users, total] = await em.findAndCount(User, filterOf(query), {
    orderBy: orderOf(query.sort),
    limit: pageSize,
    offset: (page - 1) * pageSize,
  })
  return { users, total }
}

function filterOf({ q, showDeleted, homeInstance, role, joinedAfter, joinedBefore }: UsersQuery): FilterQuery<User> {
  const parts: FilterQuery<User>[] = []
  if (!showDeleted) parts.push({ isDeleted: false })
  if (homeInstance) parts.push({ homeInstance: homeInstance === 'local' ? null : homeInstance.toLowerCase() })
  if (role) parts.push({ isAdmin: role === 'admin' })
  if (joinedAfter) parts.push({ createdAt: { $gte: startOf(joinedAfter) } })
  if (joinedBefore) parts.push({ createdAt: { $lt: new Date(startOf(joinedBefore).getTime() + dayMs) } })
  const text = q?.trim()
  if (text) {
    const like = `%${text.replace(/[\\%_]/g, '\\$&')}%`
    parts.push({ $or: [{ username: { $ilike: like } }, { displayName: { $ilike: like } }] })
  }
  return { $and: parts }
}

const dayMs = 24 * 60 * 60 * 1000
const startOf = (day: string) => new Date(`${day}T00:00:00Z`)

/** The id breaks ties, so that no page repeats or skips an account. */
function orderOf(sort: UsersQuery['sort']): QueryOrderMap<User>[] {
  if (sort === 'az' || sort === 'za') return [{ username: sort === 'az' ? 'asc' : 'desc' }]
  const direction = sort === 'oldest' ? 'asc' : 'desc'
  return [{ createdAt: direction }, { id: direction }]
}

/** The home instances of the live users and stubs, in the order of the alphabet. Contract: 5. */
export async function listUserInstances(em: EntityManager): Promise<string[]> {
  const rows = await selectRows<{ host: string }>(
    em,
    `select distinct home_instance as host from users where home_instance is not null and not is_deleted order by 1`,
  )
  return rows.map(({ host }) => host)
}

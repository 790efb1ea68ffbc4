import type { listUsersQuery } from '@gatehouse/contracts'
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

function filterOf({ q, showDeleted, homeInstance, role }: UsersQuery): FilterQuery<User> {
  const parts: FilterQuery<User>[] = []
  if (!showDeleted) parts.push({ isDeleted: false })
  if (homeInstance) parts.push({ homeInstance: homeInstance === 'local' ? null : homeInstance.toLowerCase() })
  if (role) parts.push({ isAdmin: role === 'admin' })
  const text = q?.trim()
  if (text) {
    const like = `%${text.replace(/[\\%_]/g, '\\$&')}%`
    parts.push({ $or: [{ username: { $ilike: like } }, { displayName: { $ilike: like } }] })
  }
  return { $and: parts }
}

/** The id breaks ties, so that no page repeats or skips an account. */
function orderOf(sort: UsersQuery['sort']): QueryOrderMap<User>[] {
  const direction = sort.startsWith('-') ? 'desc' : 'asc'
  return sort.endsWith('username') ? [{ username: direction }] : [{ createdAt: direction }, { id: direction }]
}

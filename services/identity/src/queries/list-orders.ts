import { findPage, type PageRequest } from '@gatehouse/database'
import { DeletionOrder } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Newest first. Contract: 7, Deletion orders. */
export async function listOrders(em: EntityManager, userId: string) {
  const orders = await em.find(DeletionOrder, { userId }, { orderBy: { givenAt: 'desc', id: 'desc' } })
  return { orders: orders.map((order) => ({ ...orderReply(order), receipt: order.receipt ?? null })) }
}

/** Of all users. */
export async function listOpenOrders(em: EntityManager, query: PageRequest) {
  const where = { state: { $in: ['waiting' as const, 'overdue' as const] } }
  const { rows, nextCursor } = await findPage(em, DeletionOrder, { ...query, where })
  return { orders: rows.map((order) => ({ ...orderReply(order), id: order.id, userId: order.userId })), nextCursor }
}

function orderReply({ origin, mode, state, error, attempts, givenAt, nextAttemptAt, endedAt }: DeletionOrder) {
  const times = { nextAttemptAt: nextAttemptAt?.getTime() ?? null, endedAt: endedAt?.getTime() ?? null }
  return { origin, mode, state, error: error ?? null, attempts, givenAt: givenAt.getTime(), ...times }
}

import { findPage, read, type PageRequest } from '@gatehouse/database'
import { findHoldingInstances } from '@gatehouse/deliveries'
import { DeletionOrder, User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Of peers that a durable deletion asks or waits for. The parameter is a JSON array of origins. Contract: 7, Deletion orders. */
export const isPeerNamed = `status in ('active', 'unreachable', 'needs_attention')
  and origin = any(array(select jsonb_array_elements_text(?::jsonb)))`

/** Origins of the peers that may hold something of a native user. None of any other. Contract: 5, A user. */
export async function listPeersOfUser(em: EntityManager, userId: string): Promise<string[]> {
  const user = await em.findOne(User, { id: userId, isDeleted: false })
  if (!user?.isNative()) return []
  const holding = [...(await findHoldingInstances(em, user))]
  const sql = `select origin from peers where ${isPeerNamed} order by origin`
  const peers = await read<{ origin: string }>(em, sql, [JSON.stringify(holding)])
  return peers.map(({ origin }) => origin)
}

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

import { MessageRefused, type LiveMessage, type UpstreamConnection } from '@gatehouse/upstream'
import { z } from 'zod'
import { idText } from './input.ts'
import type { Store } from './store.ts'

const typing = z.object({ type: z.literal('chat.typing'), channelId: idText })
/** Of UserDeleted, and of DeletedPresence, which follows it with the rest of a large audience. */
const deletion = z.object({ userId: z.string(), audience: z.array(z.string()) })
const usersPerDelivery = 1_000

export type Live = ReturnType<typeof openLive>

/** The part on the sockets. Nothing is kept in memory between two messages, so any number of replicas may run. */
export function openLive(connection: UpstreamConnection, store: Store) {
  function toUsers(ids: readonly string[], message: LiveMessage): void {
    for (let from = 0; from < ids.length; from += usersPerDelivery) {
      connection.deliver({ users: ids.slice(from, from + usersPerDelivery) }, message)
    }
  }

  connection.onReady(async ({ userId }) => ({ spaces: await store.listSpaces(userId) }))

  connection.onMessage(async ({ userId, username, sessionId, message }) => {
    const parsed = typing.safeParse(message)
    if (!parsed.success) throw new MessageRefused('This is not a message of the chat')
    const { channelId } = parsed.data
    const channel = await store.findChannel(channelId, userId)
    if (!channel) throw new MessageRefused('No such channel')
    const except = { sessions: [sessionId] }
    connection.deliver({ space: channel.spaceId }, { ...parsed.data, userId, username }, { except })
  })

  // The database has deleted or renamed what the account wrote; pages that show it read it again.
  connection.onEvent(['UserDeleted', 'DeletedPresence'], ({ payload }) => {
    const { userId, audience } = deletion.parse(payload)
    toUsers(audience, { type: 'chat.user_deleted', userId })
  })

  return { toUsers, toSpace: (space: string, message: LiveMessage) => connection.deliver({ space }, message) }
}

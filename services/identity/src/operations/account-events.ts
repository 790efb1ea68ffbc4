import { enqueue } from '@gatehouse/bus'
import type { AccountState, EventDefinition, accountEvents } from '@gatehouse/contracts'
import type { Random } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'

type AccountEvent = (typeof accountEvents)[number]

/** The payload but for the account's id, which is part of its state. */
type AccountFacts<E extends AccountEvent> = Omit<z.input<E['payload']>, 'userId'> & { requestId?: string | undefined }

/**
 * Records an event of an account in the outbox, in the transaction of the change; `state` is the one after it. Gives that
 * state, for `afterCommit`. Design: invariants 1 and 2.
 */
export async function recordAccountEvent<E extends AccountEvent>(
  em: EntityManager,
  { random }: { random: Random },
  event: E,
  facts: AccountFacts<E>,
): Promise<AccountState> {
  const { requestId, ...payload } = facts as { state: AccountState; requestId?: string }
  const definition: EventDefinition = event
  await enqueue(em, definition, { ...payload, userId: payload.state.userId }, { id: random.uuid(), requestId })
  return payload.state
}

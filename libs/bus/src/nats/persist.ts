import { setTimeout as pause } from 'node:timers/promises'
import type { EventStream } from './event-stream.ts'

const BETWEEN_ATTEMPTS_MS = 500

/** Something on the server that is made again whenever it may have been lost. */
export type Persistent = { stop(): void }

/** One making of it: whether none newer has replaced it, and how to ask for a newer one. */
export type Making = { isCurrent(): boolean; again(): void }

/**
 * Makes something on the server now (throwing if that fails), and again, until it succeeds, each time the connection
 * has come back or `make` asks for it.
 */
export async function persist(
  { link, log }: Pick<EventStream, 'link' | 'log'>,
  make: (making: Making) => Promise<unknown>,
): Promise<Persistent> {
  let generation = 0

  async function remake() {
    const mine = ++generation
    const isCurrent = () => mine === generation && link.isUp()
    while (isCurrent()) {
      try {
        await link.whileUp(() => make({ isCurrent, again }))
        return
      } catch (error) {
        if (isCurrent()) log.warn({ err: error }, 'NATS could not resume a subscription yet')
        await pause(BETWEEN_ATTEMPTS_MS)
      }
    }
  }

  const again = () => void remake()
  const forget = link.onReturn(again)
  const stop = () => {
    forget()
    generation += 1
  }
  const first = generation
  await link
    .whileUp(() => make({ isCurrent: () => first === generation, again }))
    .catch((error: unknown) => {
      stop()
      throw error
    })
  return { stop }
}

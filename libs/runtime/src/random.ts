import { randomBytes, randomInt, randomUUID } from 'node:crypto'

export type Random = {
  /** Unpredictable. */
  bytes(count: number): Buffer
  /** From 0; `limit` is excluded. */
  below(limit: number): number
  uuid(): string
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  below: (limit) => randomInt(limit),
  uuid: () => randomUUID(),
}

/** In base64url; `count` is in bytes. */
export function randomToken(random: Pick<Random, 'bytes'>, count: number): string {
  return random.bytes(count).toString('base64url')
}

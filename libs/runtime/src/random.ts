import { randomBytes, randomInt, randomUUID } from 'node:crypto'

/** Where randomness comes from: secrets, identifiers and picks. */
export type Random = {
  /** `count` unpredictable bytes. */
  bytes(count: number): Buffer
  /** An integer from 0 up to, not including, `limit`. */
  below(limit: number): number
  uuid(): string
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  below: (limit) => randomInt(limit),
  uuid: () => randomUUID(),
}

/** A random text of `count` bytes in base64url: invite tokens, temporary passwords, secrets. */
export function randomToken(random: Pick<Random, 'bytes'>, count: number): string {
  return random.bytes(count).toString('base64url')
}

import { createSecretKey, type KeyObject } from 'node:crypto'

/** The previous ones only verify. Contract: 8. */
export function createSecretKeys(
  secret: string,
  previous: readonly string[],
): { signing: KeyObject; verifying: readonly KeyObject[] } {
  const toKey = (text: string): KeyObject => createSecretKey(Buffer.from(text, 'utf8'))
  const signing = toKey(secret)
  return { signing, verifying: [signing, ...previous.map(toKey)] }
}

import { createHmac } from 'node:crypto'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** What an authenticator app with this secret shows at `at` (ms), or `steps` of 30 s later. */
export function appCode(secret: string, at: number, steps = 0): string {
  const bits = Array.from(secret, (char) => alphabet.indexOf(char).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30_000) + steps))
  const hmac = createHmac('sha1', key).update(counter).digest()
  const number = hmac.readUInt32BE(hmac[19]! & 15) & 0x7fff_ffff
  return String(number % 1_000_000).padStart(6, '0')
}

import type { Account } from '../revocation/accounts.ts'
import { seededRandom, type Random } from './random.ts'
import { addressOf } from './requests.ts'
import type { Targets } from './targets.ts'
import { hostileTexts, hostileValue, mutateBytes, mutateValue } from './values.ts'

/** What one socket sends after the upgrade: perhaps a valid auth message, then mutated frames. */
export type SocketCase = {
  address: string
  /** Authenticates before the frames. */
  account: Account | undefined
  frames: Buffer[]
  end: 'close-frame' | 'half-close' | 'reset'
}

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
const framesMax = 60
const messages: readonly object[] = [
  { type: 'ping' },
  { type: 'watch', topic: 'admin' },
  { type: 'unwatch' },
  { type: 'auth', token: 'x' },
  { type: 'typing', channelId: '1', meta: { deep: [1, 'a', null] } },
]

/** The socket of this seed, with at most `limit` frames: the same each time. */
export function socketCase(seed: number, { admin, accounts }: Targets, limit: number): SocketCase {
  const random = seededRandom(seed)
  const isAuthenticated = random.chance(0.7)
  const account = random.chance(0.1) ? admin : random.pick(accounts)
  // A malformed frame ends the socket: apart from the sockets that send many messages.
  const isMalformed = random.chance(isAuthenticated ? 0.3 : 0.5)
  const count = Math.min(limit, isMalformed || !isAuthenticated ? 1 + random.below(3) : 1 + random.below(framesMax))
  const frames = Array.from({ length: count }, () => (isMalformed ? malformedFrame(random) : messageFrame(random)))
  const end = random.pick(['close-frame', 'half-close', 'reset'] as const)
  return {
    address: addressOf(random).replace(/[^\x20-\x7e]/g, ''),
    account: isAuthenticated ? account : undefined,
    frames,
    end,
  }
}

export function textFrame(text: string): Buffer {
  return encodeFrame({ opcode: opcodes.text, payload: Buffer.from(text) })
}

export const closeFrame = encodeFrame({ opcode: opcodes.close, payload: Buffer.from([0x03, 0xe8]) })

/** A frame that RFC 6455 allows, whatever its message says. */
function messageFrame(random: Random): Buffer {
  const control = [opcodes.ping, opcodes.pong]
  if (random.chance(0.05))
    return encodeFrame({ opcode: random.pick(control), payload: Buffer.alloc(random.below(126)) })
  return textFrame(messageText(random))
}

function messageText(random: Random): string {
  const message = random.pick(messages)
  if (random.chance(0.15)) return JSON.stringify(message)
  const mutated = JSON.stringify(mutateValue(message, random))
  if (random.chance(0.7)) return mutated.slice(0, 16 * 1024)
  if (random.chance(0.1)) return '['.repeat(1 + random.below(16_000))
  return mutateBytes(Buffer.from(mutated), random)
    .toString('utf8')
    .slice(0, 16 * 1024)
}

/** Reserved bits and opcodes, no mask, torn messages, lengths that are not true, invalid UTF-8. */
function malformedFrame(random: Random): Buffer {
  const payload = Buffer.from(random.chance(0.5) ? messageText(random) : random.pick(hostileTexts))
  const frame = encodeFrame({
    opcode: random.chance(0.3) ? random.below(16) : random.pick([opcodes.text, opcodes.binary, opcodes.close]),
    payload: random.chance(0.3) ? mutateBytes(Buffer.concat([payload, Buffer.from([0xff, 0xc0])]), random) : payload,
    isFinal: random.chance(0.8),
    reserved: random.chance(0.2) ? random.below(8) : 0,
    isMasked: random.chance(0.85),
    ...(random.chance(0.15) && { length: random.pick([0, 126, 65_536, 2 ** 31, 2 ** 53]) }),
  })
  if (random.chance(0.1)) return Buffer.from(JSON.stringify(hostileValue(random)))
  return random.chance(0.3) ? mutateBytes(frame, random) : frame
}

type Frame = {
  opcode: number
  payload: Buffer
  isFinal?: boolean
  reserved?: number
  isMasked?: boolean
  /** Declared instead of the true one. */
  length?: number
}

function encodeFrame({ opcode, payload, isFinal = true, reserved = 0, isMasked = true, length }: Frame): Buffer {
  const declared = length ?? payload.length
  const first = (isFinal ? 0x80 : 0) | (reserved << 4) | opcode
  const maskBit = isMasked ? 0x80 : 0
  const head = declared < 126 ? Buffer.alloc(2) : Buffer.alloc(declared < 65_536 ? 4 : 10)
  head[0] = first
  head[1] = maskBit | (declared < 126 ? declared : declared < 65_536 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(declared, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(declared), 2)
  const mask = Buffer.from([1, 2, 3, 4])
  const masked = isMasked ? payload.map((byte, index) => byte ^ mask[index % 4]!) : payload
  return Buffer.concat(isMasked ? [head, mask, masked] : [head, masked])
}

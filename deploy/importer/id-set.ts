import { hash } from 'node:crypto'

/** A set of whole numbers from 1 to 2^64 - 1 in 16 to 32 bytes each. A set of their decimals as texts takes 80. */
export class IdSet {
  #slots = new BigUint64Array(1024)
  #size = 0

  /** Whether it is new. */
  add(id: string | bigint): boolean {
    if (this.#size * 2 >= this.#slots.length) this.#grow()
    const value = BigInt(id)
    const slot = this.#find(value)
    if (this.#slots[slot] !== 0n) return false
    this.#slots[slot] = value
    this.#size += 1
    return true
  }

  has(id: string | bigint): boolean {
    return this.#slots[this.#find(BigInt(id))] !== 0n
  }

  /** The slot of the value, else the free one for it. */
  #find(value: bigint): number {
    const mask = this.#slots.length - 1
    let slot = mixBits(value) & mask
    while (this.#slots[slot] !== 0n && this.#slots[slot] !== value) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new BigUint64Array(old.length * 2)
    for (const value of old) if (value !== 0n) this.#slots[this.#find(value)] = value
  }
}

/** Ids of one moment differ in few bits: each of them changes the low ones. */
function mixBits(value: bigint): number {
  const [low, high] = [Number(value & 0xffff_ffffn), Number(value >> 32n)]
  const mixed = Math.imul(low, 0x9e37_79b1) ^ Math.imul(high, 0x85eb_ca6b)
  const spread = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b_3c6d)
  return spread ^ (spread >>> 13)
}

/** Which texts come more than once. It may name others too, by chance of a hash. */
export class Repetitions {
  readonly #once = new IdSet()
  readonly #repeated = new Set<bigint>()

  add(text: string): void {
    const value = hashOf(text)
    if (!this.#once.add(value)) this.#repeated.add(value)
  }

  has(text: string): boolean {
    return this.#once.has(hashOf(text))
  }

  isRepeated(text: string): boolean {
    return this.#repeated.has(hashOf(text))
  }
}

const hashOf = (text: string): bigint => hash('sha1', text, 'buffer').readBigUInt64LE() || 1n

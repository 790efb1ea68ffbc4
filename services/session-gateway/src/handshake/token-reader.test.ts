import { createLocalBus, type Bus } from '@gatehouse/bus'
import { maxTokensPerCall, readTokenClaims } from '@gatehouse/contracts'
import { capturedLog } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { timings } from '../policy.ts'
import { createTokenReader } from './handshake.ts'

const now = 1_700_000_000_000
const issued = now / 1000

describe('what tokens claim, asked of identity', () => {
  const asked: string[][] = []
  let bus: Bus
  let clock: { now(): number }

  beforeEach(async () => {
    asked.length = 0
    clock = { now: () => now }
    bus = createLocalBus({ log: capturedLog().log })
    await bus.respond(readTokenClaims, async ({ tokens }) => {
      asked.push(tokens)
      return { claims: tokens.map((userId) => (userId === '' ? null : { userId, iat: issued, exp: issued + 60 })) }
    })
  })
  afterEach(() => bus[Symbol.asyncDispose]())

  const createReader = (capacity?: number) => createTokenReader({ bus, clock, timings }, capacity)
  const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))

  it('takes some 50 calls for 5,000 tokens that come together, and none for the same ones again', async () => {
    const reader = createReader()
    const tokens = numbered(5_000)
    const readAll = () => Promise.all(tokens.map((token) => reader.read(token)))

    const first = await readAll()
    const second = await readAll()

    expect(first.map((claims) => claims?.userId)).to.deep.equal(tokens)
    expect(second).to.deep.equal(first)
    expect(asked.every(({ length }) => length <= maxTokensPerCall)).to.equal(true)
    expect(asked).to.have.length.within(50, 51)
  })

  it('remembers claims until they expire, and no refusal', async () => {
    const reader = createReader()
    const readBoth = async () => [await reader.read('1'), await reader.read('')]

    const fresh = await readBoth()
    clock.now = () => now + 59_999
    const late = await readBoth()
    clock.now = () => now + 60_000

    expect([fresh, late]).to.deep.equal(Array(2).fill([{ userId: '1', iat: issued, exp: issued + 60 }, undefined]))
    expect(await reader.read('1')).to.equal(undefined)
    expect(asked).to.deep.equal([['1'], [''], ['']])
  })

  it('remembers so many, and forgets the one that was used longest ago', async () => {
    const reader = createReader(2)
    for (const token of ['1', '2', '1', '3', '1', '2']) await reader.read(token)

    expect(asked.flat()).to.deep.equal(['1', '2', '3', '2'])
  })

  it('asks nothing about a text that is longer than any token', async () => {
    expect(await createReader().read('x'.repeat(2_049))).to.equal(undefined)
    expect(await createReader().read('x'.repeat(2_048))).to.include({ iat: issued })
    expect(asked).to.have.length(1)
  })

  it('guesses nothing where nobody answers', async () => {
    await bus[Symbol.asyncDispose]()
    const refused = await createReader()
      .read('1')
      .catch((error: Error) => error.name)

    expect(refused).to.equal('BusUnavailable')
  })
})

import { isRefusal } from '@gatehouse/runtime'
import { expect } from 'chai'
import fc from 'fast-check'
import { z } from 'zod'
import { parseInput } from './input.ts'

describe('Parsed input', () => {
  const schema = z.object({
    name: z.string({ error: 'name must be a string' }),
    page: z.coerce.number().int().min(1).optional(),
    origins: z.array(z.string()).optional(),
  })
  const refusalOf = (input: unknown) => {
    try {
      return parseInput(schema, input)
    } catch (error) {
      return error
    }
  }

  it('is what the schema makes of it', () => {
    expect(parseInput(schema, { name: 'a', page: '3', more: 1 })).to.deep.equal({ name: 'a', page: 3 })
  })

  it('is refused with the first fault, which names its field once', () => {
    expect(refusalOf({ name: 1, page: 'x' })).to.include({ status: 400, message: 'name must be a string' })
    expect((refusalOf({ name: 'a', page: '0' }) as Error).message).to.match(/^page: /)
    expect((refusalOf({ name: 'a', origins: ['b', 3] }) as Error).message).to.match(/^origins\.1: /)
  })

  it('is parsed or refused, whatever it is', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withSparseArray: true }), (input) => {
        const outcome = refusalOf(input)
        if (outcome instanceof Error) expect(isRefusal(outcome) && outcome.status).to.equal(400)
      }),
    )
  })
})

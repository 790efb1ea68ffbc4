import { isRefusal, type Refusal } from '@gatehouse/runtime'
import { expect } from 'chai'
import fc from 'fast-check'
import { z } from 'zod'
import { parseInput } from './input.ts'

describe('Parsed input', () => {
  const schema = z.object({
    name: z.string({ error: 'name must be a string' }),
    page: z.coerce.number().int().min(1).optional(),
    origins: z.array(z.string()).optional(),
    bio: z.string().max(0).optional(),
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
    expect((refusalOf({ name: 'a', page: '0' }) as Error).message).to.equal('page is too small: at least 1')
    expect((refusalOf({ name: 'a', origins: ['b', 3] }) as Error).message).to.equal('origins.1 has the wrong type')
  })

  it('is refused with the field, the reason and the bound, by the code that clients know of the field', () => {
    const bodyOf = (input: unknown) => (refusalOf(input) as Refusal).body

    expect(bodyOf({})).to.deep.include({ code: 'validation_failed', details: { field: 'name', reason: 'required' } })
    expect(bodyOf({ name: 'a', page: '0' }).details).to.deep.equal({ field: 'page', reason: 'too_small', min: 1 })
    expect(bodyOf({ name: 'a', page: 'x' }).details).to.deep.equal({ field: 'page', reason: 'wrong_type' })
    expect(bodyOf({ name: 'a', bio: 'b' })).to.deep.include({
      code: 'bio_too_long',
      error: 'bio must be at most 190 characters',
      details: { field: 'bio', reason: 'too_long', max: 0 },
    })
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

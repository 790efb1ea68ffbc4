import { expect } from 'chai'
import { Refusal, invalidInput, isRefusal, refuse } from './refusal.ts'

describe('refusals', () => {
  it('carry their code, status and message', () => {
    const refusal = refuse.username_taken()

    expect(refusal).to.be.instanceOf(Refusal)
    expect(refusal).to.include({ code: 'username_taken', status: 409, message: 'Username already taken' })
    expect(refusal.body).to.deep.equal({ error: 'Username already taken', statusCode: 409, code: 'username_taken' })
  })

  it('keep extra fields beside the message, and never let them replace it', () => {
    const fields = { ownedSpaces: [], statusCode: 1, error: 'x' }

    expect(refuse.owns_spaces({ fields }).body).to.deep.equal({
      error: 'owns_spaces',
      statusCode: 409,
      code: 'owns_spaces',
      ownedSpaces: [],
    })
  })

  it('keep the body of a rate limit to the letter of the contract', () => {
    const refusal = refuse.rate_limited({ fields: { message: 'Rate limit exceeded', retryAfter: 7 } })
    const body = { statusCode: 429, error: 'Too Many Requests', message: 'Rate limit exceeded', retryAfter: 7 }

    expect(refusal.body).to.deep.equal(body)
  })

  it('name the field of an input and why it is refused, in words of their own', () => {
    const fault = { field: 'limit', reason: 'too_large', max: 100 } as const

    expect(invalidInput(fault).body).to.deep.equal({
      error: 'limit is too large: at most 100',
      statusCode: 400,
      code: 'validation_failed',
      details: fault,
    })
    expect(invalidInput(fault, { text: 'Smaller, please' }).message).to.equal('Smaller, please')
  })

  it('are told apart from faults', () => {
    expect(isRefusal(new Error('fault'))).to.equal(false)
    expect(isRefusal(refuse.username_taken())).to.equal(true)
  })
})

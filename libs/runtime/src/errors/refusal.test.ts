import { expect } from 'chai'
import { Refusal, defineErrors, isRefusal } from './refusal.ts'
import { commonErrors } from './common-errors.ts'

describe('refusals', () => {
  const refuse = defineErrors({ name_taken: { status: 409, message: 'Username already taken' } })

  it('carry their code, status and message', () => {
    const refusal = refuse.name_taken()

    expect(refusal).to.be.instanceOf(Refusal)
    expect(refusal).to.include({ code: 'name_taken', status: 409, message: 'Username already taken' })
    expect(refusal.body).to.deep.equal({ error: 'Username already taken', statusCode: 409 })
  })

  it('keep extra fields beside the message, and never let them replace it', () => {
    const refusal = commonErrors.conflict({ fields: { ownedSpaces: [], statusCode: 1 } })

    expect(refusal.body).to.deep.equal({ error: 'Conflict', statusCode: 409, ownedSpaces: [] })
  })

  it('are told apart from faults', () => {
    expect(isRefusal(new Error('fault'))).to.equal(false)
    expect(isRefusal(refuse.name_taken())).to.equal(true)
  })
})
